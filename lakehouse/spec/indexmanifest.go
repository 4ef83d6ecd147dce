package spec

import "fmt"

// IndexFile is one live index file of an index manifest (hash index or deletion
// vectors), as far as leat needs it: to remove it with the snapshots that used it.
type IndexFile struct {
	FileName     string  `avro:"_FILE_NAME"`
	ExternalPath *string `avro:"_EXTERNAL_PATH"`
}

// ReadIndexManifest gives the index files of an index manifest in Avro.
func ReadIndexManifest(b []byte) ([]IndexFile, error) {
	var out []IndexFile
	err := readAvro(b, func(f *IndexFile) error {
		if err := checkName(f.FileName); err != nil {
			return err
		}
		out = append(out, *f)
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("reading index manifest: %w", err)
	}
	return out, nil
}
