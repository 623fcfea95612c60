// Package backup has the files of a backup: what is in its folder, how they are written so that a crash leaves nothing
// half, and how they are checked.
//
//	manifest.json        what is in the backup as of its last complete run
//	next.json            the same of a run that is under way
//	log/NNNNNN.zst       records of internal/events/logcopy
//	keyring/NNNNNN.zst   a copy of internal/access/keyring: keys wrapped with the master key
//	blobs/XX/<address>   blobs as they are in the store, and a list of them; XX are digits of the address
//
// The master key, the signing key and tokens are never in it.
package backup

// KeyringName is the name of the copy of the keyring that a restore leaves in a data folder. recitald takes it up at
// its start.
const KeyringName = "keyring-import"
