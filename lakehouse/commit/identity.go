package commit

import (
	"encoding/binary"

	"leat/lakehouse/spec"
)

// identity is the key by which a deletion cancels an addition
// (FileEntry.Identifier): partition, bucket and fileIdentity.
func identity(e *spec.ManifestEntry) string {
	b := make([]byte, 0, len(e.Partition.Data)+len(e.File.FileName)+32)
	b = binary.AppendUvarint(b, uint64(len(e.Partition.Data)))
	b = append(b, e.Partition.Data...)
	b = binary.AppendVarint(b, int64(e.Bucket))
	return string(appendFileIdentity(b, &e.File))
}

// fileIdentity is the identity of a file within its bucket.
func fileIdentity(f *spec.DataFileMeta) string {
	return string(appendFileIdentity(make([]byte, 0, len(f.FileName)+16), f))
}

func appendFileIdentity(b []byte, f *spec.DataFileMeta) []byte {
	b = binary.AppendVarint(b, int64(f.Level))
	b = appendText(b, f.FileName)
	b = binary.AppendUvarint(b, uint64(len(f.ExtraFiles)))
	for _, e := range f.ExtraFiles {
		b = appendText(b, e)
	}
	b = appendText(b, string(f.EmbeddedFileIndex))
	if f.ExternalPath != nil {
		b = appendText(b, *f.ExternalPath)
	}
	return b
}

func appendText(b []byte, s string) []byte {
	b = binary.AppendUvarint(b, uint64(len(s)))
	return append(b, s...)
}

// bucketID names a bucket of a partition.
type bucketID struct {
	partition string
	bucket    int32
}

func bucketOf(e *spec.ManifestEntry) bucketID {
	return bucketID{partition: string(e.Partition.Data), bucket: e.Bucket}
}
