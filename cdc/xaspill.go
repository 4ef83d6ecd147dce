package cdc

import (
	"context"
	"errors"
	"fmt"
	"io"
	"path/filepath"

	"github.com/google/uuid"
	"github.com/klauspost/compress/zstd"

	"leat/internal/diag"
	"leat/internal/fileio"
	"leat/internal/fileio/local"
)

// spill is a file of the scratch folder into which the rows of a large XA
// transaction go, compressed.
type spill struct {
	name string
	file fileio.Writer
	z    *zstd.Encoder
}

// newSpill opens a file in the scratch folder.
func (c *Config) newSpill(ctx context.Context) (*spill, error) {
	if c.Scratch == "" {
		return nil, errors.New("keeping the rows of an XA transaction: there is no scratch folder")
	}
	s := &spill{name: filepath.Join(c.Scratch, "xa-"+uuid.NewString())}
	var err error
	if s.file, err = local.NewScratch().Create(ctx, s.name); err != nil {
		return nil, spillError(err)
	}
	if s.z, err = zstd.NewWriter(s.file, zstd.WithEncoderConcurrency(1), zstd.WithEncoderLevel(zstd.SpeedFastest), zstd.WithLowerEncoderMem(true)); err != nil {
		return nil, spillError(errors.Join(err, s.file.Abort(ctx)))
	}
	return s, nil
}

func spillError(err error) error {
	return &diag.Error{
		Domain: diag.External, Code: diag.CodeJobState, Retry: true, Cause: err,
		Msg:  "the rows of a large XA transaction cannot be kept on the local disk until XA COMMIT",
		Hint: "see that the disk of the state directory has room, or choose another one with --state-dir",
	}
}

func (s *spill) write(events []byte) error {
	if _, err := s.z.Write(events); err != nil {
		return spillError(err)
	}
	return nil
}

// commit ends the file and gives its name.
func (s *spill) commit(ctx context.Context) (string, error) {
	if err := s.z.Close(); err != nil {
		return "", spillError(errors.Join(err, s.file.Abort(ctx)))
	}
	if err := s.file.Commit(ctx); err != nil {
		return "", spillError(errors.Join(err, s.file.Abort(ctx)))
	}
	return s.name, nil
}

// abort gives the file up; the folder is emptied at the next start anyway.
func (s *spill) abort() {
	_ = s.z.Close()
	_ = s.file.Abort(context.Background())
}

// removeSpill removes a file that is not needed any more, if there is one.
func removeSpill(name string) {
	if name != "" {
		_ = local.NewScratch().Remove(context.Background(), name)
	}
}

// spillReader reads a spilled transaction.
type spillReader struct {
	file fileio.File
	z    *zstd.Decoder
}

func openSpill(ctx context.Context, name string) (*spillReader, error) {
	f, err := local.NewScratch().Open(ctx, name)
	if err != nil {
		return nil, fmt.Errorf("opening its rows: %w", err)
	}
	z, err := zstd.NewReader(io.NewSectionReader(f, 0, f.Size()), zstd.WithDecoderConcurrency(1), zstd.WithDecoderLowmem(true))
	if err != nil {
		return nil, errors.Join(fmt.Errorf("opening its rows: %w", err), f.Close())
	}
	return &spillReader{file: f, z: z}, nil
}

func (r *spillReader) Read(p []byte) (int, error) { return r.z.Read(p) }

func (r *spillReader) close() {
	r.z.Close()
	_ = r.file.Close()
}
