package format

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"

	"github.com/apache/arrow-go/v18/parquet/metadata"
	"github.com/apache/thrift/lib/go/thrift"
)

// maxSchemaDepth is how deep a schema may be nested.
const maxSchemaDepth = 100

// readFooter gives the metadata of a file, once its footer has shown to be one
// whose lists and groups are as long as they say: the library makes room for what
// they say, and goes as deep.
//
// Source: parquet-format, "File format" and parquet.thrift (FileMetaData, SchemaElement).
func readFooter(src *source) (*metadata.FileMetaData, error) {
	const tail = 8 // the length of the footer, and PAR1
	if src.size < tail {
		return nil, fmt.Errorf("a file of %d bytes", src.size)
	}
	end := make([]byte, tail)
	if _, err := src.ReadAt(end, src.size-tail); err != nil {
		return nil, notEOF(err)
	}
	size := int64(binary.LittleEndian.Uint32(end))
	if !bytes.Equal(end[4:], []byte("PAR1")) || size+tail > src.size {
		return nil, fmt.Errorf("the file ends in %q", end)
	}
	b := make([]byte, size)
	if _, err := src.ReadAt(b, src.size-tail-size); err != nil {
		return nil, notEOF(err)
	}
	if err := checkFooter(b); err != nil {
		return nil, err
	}
	m, err := metadata.NewFileMetaData(b, nil)
	if err != nil {
		return nil, err
	}
	m.SetSourceFileSize(src.size)
	return m, nil
}

// checkFooter walks through a footer without keeping anything of it.
func checkFooter(b []byte) error {
	ctx := context.Background()
	buf := &thrift.TMemoryBuffer{Buffer: bytes.NewBuffer(b)}
	p := thrift.NewTCompactProtocolConf(buf, &thrift.TConfiguration{})
	return eachField(ctx, p, func(id int16, typ thrift.TType) error {
		if id != 2 || typ != thrift.LIST {
			return thrift.SkipDefaultDepth(ctx, p, typ)
		}
		return checkTree(ctx, p)
	})
}

// checkTree walks through the elements of a schema, which are its tree in depth-first order.
func checkTree(ctx context.Context, p thrift.TProtocol) error {
	_, n, err := p.ReadListBegin(ctx)
	if err != nil {
		return err
	}
	var open []int32 // the groups at hand: how many children each waits for
	for i := range n {
		var children int32
		err := eachField(ctx, p, func(id int16, typ thrift.TType) (err error) {
			if id == 5 && typ == thrift.I32 {
				children, err = p.ReadI32(ctx)
				return err
			}
			return thrift.SkipDefaultDepth(ctx, p, typ)
		})
		if err != nil {
			return err
		}
		for len(open) > 0 && open[len(open)-1] == 0 {
			open = open[:len(open)-1]
		}
		if len(open) > 0 {
			open[len(open)-1]--
		}
		if children < 0 || int(children) > n-i-1 {
			return fmt.Errorf("the schema of %d elements has one of %d children", n, children)
		}
		if children > 0 {
			open = append(open, children)
		}
		if len(open) > maxSchemaDepth {
			return errors.New("the schema is nested too deep")
		}
	}
	return p.ReadListEnd(ctx)
}

// eachField calls f for the fields of a struct, which has to read the value.
func eachField(ctx context.Context, p thrift.TProtocol, f func(id int16, typ thrift.TType) error) error {
	if _, err := p.ReadStructBegin(ctx); err != nil {
		return err
	}
	for {
		_, typ, id, err := p.ReadFieldBegin(ctx)
		if err != nil {
			return err
		}
		if typ == thrift.STOP {
			return p.ReadStructEnd(ctx)
		}
		if err := f(id, typ); err != nil {
			return err
		}
		if err := p.ReadFieldEnd(ctx); err != nil {
			return err
		}
	}
}
