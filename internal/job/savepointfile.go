package job

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"hash/crc32"
	"strings"
	"time"

	"leat/internal/dataflow"
	"leat/internal/diag"
	"leat/internal/fileio"
	"leat/internal/fileio/open"
)

// SavepointMetadata is the file that makes a folder a savepoint.
const SavepointMetadata = "_metadata"

// Savepoint is the content of a savepoint: everything a job needs to go on from
// there, on any machine. The rows are in the tables, held by tags.
type Savepoint struct {
	Name string `json:"name"`
	// Job is the name of the job, Key its identity.
	Job  string    `json:"job"`
	Key  string    `json:"key"`
	Time time.Time `json:"time"`
	// CommitUser is that of the job's commits before the savepoint.
	CommitUser string `json:"commit_user"`
	// Checkpoint holds the state of the sources; what sinks observed is what they hold.
	Checkpoint *dataflow.Checkpoint `json:"checkpoint"`
	// Tables are the tables held, by uid of their sinks.
	Tables map[string]SavedTable `json:"tables"`

	// Path is where the savepoint was read from.
	Path string `json:"-"`
}

// SavedTable is a table that a savepoint holds.
type SavedTable struct {
	// Name is the full name, Location the folder or URL.
	Name     string `json:"name"`
	Location string `json:"location"`
	// Relative is the location below the warehouse, empty if unknown.
	Relative string `json:"relative,omitempty"`
	// Held is for the sink's connector.
	Held json.RawMessage `json:"held"`
}

// sealed is the file: the savepoint with a checksum over its bytes.
type sealed struct {
	Version   int             `json:"version"`
	CRC       string          `json:"crc32c"`
	Savepoint json.RawMessage `json:"savepoint"`
}

const savepointVersion = 1

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

func checksum(b []byte) string { return fmt.Sprintf("%08x", crc32.Checksum(b, castagnoli)) }

// encodeSavepoint gives the content of the file.
func encodeSavepoint(s *Savepoint) ([]byte, error) {
	b, err := json.Marshal(s)
	if err != nil {
		return nil, fmt.Errorf("encoding savepoint %s: %w", s.Name, err)
	}
	return fmt.Appendf(nil, `{"version":%d,"crc32c":"%s","savepoint":%s}`+"\n", savepointVersion, checksum(b), b), nil
}

func decodeSavepoint(file string, b []byte) (*Savepoint, error) {
	if bytes.HasPrefix(b, flinkMagic) {
		return nil, savepointError(diag.User, file+" is a savepoint of Flink, whose state leat cannot read", "start without it: the job reads the tables anew, or goes on from its own checkpoints")
	}
	var x sealed
	if err := json.Unmarshal(b, &x); err != nil {
		return nil, damaged(file, err.Error())
	}
	switch {
	case x.Version > savepointVersion:
		return nil, savepointError(diag.User, fmt.Sprintf("%s is of version %d, which this leat does not know", file, x.Version), "run the version that wrote it")
	case x.Version != savepointVersion || len(x.Savepoint) == 0:
		return nil, damaged(file, "it has no version or no content")
	case x.CRC != checksum(x.Savepoint):
		return nil, damaged(file, fmt.Sprintf("its checksum is %s, not %s", checksum(x.Savepoint), x.CRC))
	}
	var s Savepoint
	if err := json.Unmarshal(x.Savepoint, &s); err != nil {
		return nil, damaged(file, err.Error())
	}
	if s.Name == "" || s.Checkpoint == nil || s.Checkpoint.Savepoint == nil {
		return nil, damaged(file, "it names no savepoint or has no checkpoint")
	}
	return &s, nil
}

// flinkMagic begins the metadata of a Flink savepoint or checkpoint.
var flinkMagic = []byte{0x49, 0x60, 0x67, 0x2d}

func savepointError(d diag.Domain, msg, hint string) *diag.Error {
	return &diag.Error{Domain: d, Code: diag.CodeSavepoint, Msg: msg, Hint: hint}
}

func damaged(file, why string) error {
	return savepointError(diag.Corrupt, fmt.Sprintf("savepoint %s is damaged: %s", file, why), "restore the file from a copy, or give another savepoint")
}

// ReadSavepoint reads the savepoint at a folder or URL, or at its metadata file.
func ReadSavepoint(ctx context.Context, location string) (*Savepoint, error) {
	fs, path, err := open.FromURL(location)
	if err != nil {
		return nil, err
	}
	path = strings.TrimSuffix(path, "/"+SavepointMetadata)
	file := fs.Join(path, SavepointMetadata)
	b, err := fs.ReadFile(ctx, file)
	if errors.Is(err, fileio.ErrNotExist) {
		return nil, noSavepoint(ctx, fs, path)
	}
	if err != nil {
		return nil, &diag.Error{Domain: diag.External, Code: diag.CodeSavepoint, Msg: "savepoint " + path + " cannot be read", Cause: err, Hint: "check the folder and its rights"}
	}
	s, err := decodeSavepoint(file, b)
	if err != nil {
		return nil, err
	}
	s.Path = path
	return s, nil
}

// noSavepoint says what is there instead.
func noSavepoint(ctx context.Context, fs fileio.FS, path string) error {
	infos, err := fs.List(ctx, path)
	var inside []string
	for _, i := range infos {
		switch {
		case strings.HasPrefix(i.Name, "entry-"):
			return savepointError(diag.User, path+" is the checkpoint log of a job, not a savepoint", "leave --from out: a job resumes from its log by itself")
		case i.IsDir && strings.HasPrefix(i.Name, savepointPrefix):
			inside = append(inside, i.Name)
		}
	}
	e := savepointError(diag.User, "there is no savepoint at "+path, "give the folder that `leat job savepoint` printed")
	switch {
	case err == nil && len(inside) > 0:
		e.Notes = []string{"savepoints in it: " + strings.Join(inside, ", ")}
		e.Hint = "give one of them"
	case err == nil && len(infos) > 0:
		e.Msg += ": it has no file " + SavepointMetadata
	}
	return e
}

// writeSavepoint makes the file, once and for all. An answer that was lost is looked up.
func writeSavepoint(ctx context.Context, fs fileio.FS, dir string, s *Savepoint) error {
	b, err := encodeSavepoint(s)
	if err != nil {
		return err
	}
	file := fs.Join(dir, SavepointMetadata)
	err = fs.CreateExclusive(ctx, file, b)
	if err == nil {
		return nil
	}
	if there, rerr := fs.ReadFile(ctx, file); rerr == nil && bytes.Equal(there, b) {
		return nil
	}
	return &diag.Error{Domain: diag.External, Code: diag.CodeSavepoint, Retry: true, Msg: "savepoint " + dir + " cannot be written", Cause: err, Hint: "check the folder: space, rights"}
}
