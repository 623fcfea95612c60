#!/bin/bash
# Makes what is missing of the certificates of the EventStoreDB cluster. Runs in the vendor's es-gencert-cli image (see
# eventstore-certs in docker-compose.yml), whose volumes are /authority, /public and /nodes/<node>.
set -euo pipefail
umask 077

export PATH=$PATH:/app # where the image has the tool

# The user of EventStoreDB's image, which its servers run as.
readonly server=1000:1000

# The tool writes into new folders only, and may answer 0 when it refuses: so it gets a folder that is not there yet,
# and moving fails when nothing was made. The key, which tells that a pair is there, is moved last.
made=$(mktemp -d)

if [[ ! -e /authority/ca.key ]]; then
	es-gencert-cli create-ca -out "$made/ca"
	mv "$made/ca/ca.crt" /authority/
	mv "$made/ca/ca.key" /authority/
fi

# Servers and clients trust whatever is in this folder, so it holds the authority's certificate and never its key.
cp /authority/ca.crt /public/ca.crt
chmod 755 /public
chmod 644 /public/ca.crt

for folder in /nodes/*; do
	node=${folder##*/}
	if [[ ! -e $folder/node.key ]]; then
		# localhost is what the node's own health check calls it.
		es-gencert-cli create-node -ca-certificate /authority/ca.crt -ca-key /authority/ca.key \
			-out "$made/$node" -dns-names "$node,localhost"
		mv "$made/$node/node.crt" "$folder/"
		mv "$made/$node/node.key" "$folder/"
	fi
	chown "$server" "$folder" "$folder"/node.*
	chmod 700 "$folder"
	chmod 600 "$folder/node.key"
done
