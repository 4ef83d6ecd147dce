package mysqlrow

import (
	"encoding/binary"
	"fmt"

	"github.com/go-mysql-org/go-mysql/mysql"
	"github.com/go-mysql-org/go-mysql/replication"
)

// MappedTable is a TABLE_MAP event: the table and the form of its rows.
type MappedTable struct {
	ID             uint64
	Database, Name string
	TableMap       TableMap
}

// ParseTableMap reads the body of a TABLE_MAP event, which comes behind the
// header of 19 bytes, of MySQL and of MariaDB. The slices of the map are parts of
// body, which must not change.
func ParseTableMap(body []byte) (MappedTable, error) {
	c := &cutter{rest: body}
	var t MappedTable
	id := c.take(6)
	c.take(2) // flags
	database := c.take(int(c.byte()))
	c.byte()
	name := c.take(int(c.byte()))
	c.byte()
	types := c.take(c.length())
	meta := &cutter{rest: c.take(c.length())}
	c.take((len(types) + 7) / 8) // which columns may be NULL
	if c.short {
		return t, fmt.Errorf("reading a table map: %w", ErrMalformed)
	}
	t.ID = uint64(binary.LittleEndian.Uint32(id)) | uint64(binary.LittleEndian.Uint16(id[4:]))<<32
	t.Database, t.Name = string(database), string(name)
	t.TableMap.Types, t.TableMap.Meta = types, make([]uint16, len(types))
	for i, wire := range types {
		t.TableMap.Meta[i] = parameter(wire, meta)
	}
	t.TableMap.optional(c)
	if c.short || meta.short {
		return t, fmt.Errorf("reading the table map of %s.%s: %w", t.Database, t.Name, ErrMalformed)
	}
	return t, nil
}

// parameter reads the parameter of a column.
func parameter(wire byte, c *cutter) uint16 {
	switch wire {
	case mysql.MYSQL_TYPE_STRING, mysql.MYSQL_TYPE_NEWDECIMAL, mysql.MYSQL_TYPE_ENUM, mysql.MYSQL_TYPE_SET:
		hi := c.byte()
		return uint16(hi)<<8 | uint16(c.byte())
	case mysql.MYSQL_TYPE_VARCHAR, mysql.MYSQL_TYPE_VAR_STRING, mysql.MYSQL_TYPE_BIT, typeVarcharCompressed:
		lo := c.byte()
		return uint16(lo) | uint16(c.byte())<<8
	case mysql.MYSQL_TYPE_BLOB, mysql.MYSQL_TYPE_TINY_BLOB, mysql.MYSQL_TYPE_MEDIUM_BLOB, mysql.MYSQL_TYPE_LONG_BLOB, typeBlobCompressed,
		mysql.MYSQL_TYPE_DOUBLE, mysql.MYSQL_TYPE_FLOAT, mysql.MYSQL_TYPE_GEOMETRY, mysql.MYSQL_TYPE_VECTOR, mysql.MYSQL_TYPE_JSON,
		mysql.MYSQL_TYPE_TIME2, mysql.MYSQL_TYPE_DATETIME2, mysql.MYSQL_TYPE_TIMESTAMP2:
		return uint16(c.byte())
	default:
		return 0
	}
}

// optional reads what binlog_row_metadata adds; parts that are not needed are passed.
func (m *TableMap) optional(c *cutter) {
	for len(c.rest) > 0 && !c.short {
		kind := c.byte()
		part := &cutter{rest: c.take(c.length())}
		switch kind {
		case replication.TABLE_MAP_OPT_META_SIGNEDNESS:
			m.Signedness = part.rest
		case replication.TABLE_MAP_OPT_META_COLUMN_NAME:
			m.Names = part.texts(len(m.Types))
		case replication.TABLE_MAP_OPT_META_SET_STR_VALUE:
			m.Sets = part.labels(len(m.Types))
		case replication.TABLE_MAP_OPT_META_ENUM_STR_VALUE:
			m.Enums = part.labels(len(m.Types))
		}
		c.short = c.short || part.short
	}
}

// cutter takes parts off the front of an event. short says that there was less
// than was asked for; what it gives then means nothing.
type cutter struct {
	rest  []byte
	short bool
}

func (c *cutter) take(n int) []byte {
	if n < 0 || n > len(c.rest) {
		c.rest, c.short = nil, true
		return nil
	}
	part := c.rest[:n:n]
	c.rest = c.rest[n:]
	return part
}

func (c *cutter) byte() byte {
	if part := c.take(1); part != nil {
		return part[0]
	}
	return 0
}

// length reads a length-encoded number.
func (c *cutter) length() int {
	size := 0
	switch first := c.byte(); first {
	case 0xFC:
		size = 2
	case 0xFD:
		size = 3
	case 0xFE:
		size = 8
	case 0xFB, 0xFF:
		c.short = true
		return 0
	default:
		return int(first)
	}
	return int(littleEndianBits(c.take(size)))
}

// texts reads length-encoded texts to the end, at most limit of them.
func (c *cutter) texts(limit int) [][]byte {
	var out [][]byte
	for len(c.rest) > 0 && !c.short {
		if len(out) == limit {
			c.short = true
			break
		}
		out = append(out, c.take(c.length()))
	}
	return out
}

// labels reads lists of texts, each with their number in front.
func (c *cutter) labels(limit int) [][][]byte {
	var out [][][]byte
	for len(c.rest) > 0 && !c.short {
		n := c.length()
		if len(out) == limit || n < 0 || n > len(c.rest) {
			c.short = true
			break
		}
		list := make([][]byte, n)
		for i := range list {
			list[i] = c.take(c.length())
		}
		out = append(out, list)
	}
	return out
}
