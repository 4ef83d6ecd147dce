// Package spec holds the on-disk structures of the Paimon table format and
// their codecs: schema and snapshot JSON, manifests and manifest lists (Avro),
// BinaryRow, statistics, partition paths, bucket hashes and file names.
//
// It does no I/O: codecs turn bytes into structures and back. The format is
// that of Apache Paimon 1.3 (source modules paimon-api, paimon-common and
// paimon-core). Integers of a BinaryRow are little-endian, its arity prefix in
// manifests is big-endian. Start with types.go.
package spec
