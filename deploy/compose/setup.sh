#!/bin/sh
# Draws the secrets of docker-compose.yml and writes .env beside it. What is there already is kept, so it can be run
# again.
# usage: deploy/compose/setup.sh [single|cluster]
set -eu
umask 077

profile=${1:-single}
case $profile in
single) eventstore='esdb://eventstore:2113?tls=false' ;;
cluster) eventstore= ;; # holds a password, see below
*)
	echo "usage: $0 [single|cluster]" >&2
	exit 2
	;;
esac

here=$(cd "$(dirname "$0")" && pwd)
secrets=$here/secrets
data=$here/data
env=$here/../../.env

if [ -e "$env" ]; then
	echo "setup: there is an .env already; it is kept. Remove it to write it anew" \
		"(passwords of stores that have data stay as they were)." >&2
	exit 1
fi

# Letters and digits only: the values go into URLs and into files of other formats.
draw() {
	od -An -N32 -tx1 /dev/urandom | tr -d ' \n'
}

# secret NAME [CONTENT]: a file that is not there yet; drawn unless the content is given.
secret() {
	[ -e "$secrets/$1" ] || printf '%s\n' "${2:-$(draw)}" >"$secrets/$1"
}

mkdir -p "$secrets" "$data"
secret operator-token
secret auditor-token
secret master-key
secret signing-key
secret audit-key
secret idp-1-secret # to be replaced by what the identity provider gives you
secret stripe-key            # these two, too, by what Stripe gives you
secret stripe-webhook-secret
secret minio-password
secret postgres-password
secret pgpass "postgres:5432:recital:recital:$(cat "$secrets/postgres-password")"
secret eventstore-admin-password
secret eventstore-ops-password

# Recitald runs as whoever owns the secrets and the data folders, but not as root.
uid=$(id -u)
gid=$(id -g)
if [ "$uid" -eq 0 ]; then
	uid=10001
	gid=10001
	chown -R "$uid:$gid" "$secrets" "$data"
fi

admin=$(cat "$secrets/eventstore-admin-password")
if [ "$profile" = cluster ]; then
	# The user admin, because reading all streams at once is not for others by default.
	nodes=eventstore-1:2113,eventstore-2:2113,eventstore-3:2113
	eventstore="esdb://admin:$admin@$nodes?tls=true&tlsCAFile=/run/eventstore/ca.crt"
fi

cat >"$env" <<END
# Written by deploy/compose/setup.sh; deploy/compose/env.example describes it.
COMPOSE_PROFILES=$profile
RECITAL_EVENTSTORE='$eventstore'
EVENTSTORE_ADMIN_PASSWORD=$admin
EVENTSTORE_OPS_PASSWORD=$(cat "$secrets/eventstore-ops-password")
RECITAL_IDP_1='https://accounts.example.com recital /run/secrets/idp-1-secret'
RECITAL_UID=$uid
RECITAL_GID=$gid
END

echo "The secrets are in $secrets, the settings in .env. Start with: docker compose up --build --detach"
