package mysqld

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
)

// End is where a server's binlog ends. GTIDs are those of all transactions in
// it, "" on a MySQL that has none.
type End struct {
	File   string
	Offset uint64
	GTIDs  string
}

// EndOfLog reads the end of the binlog.
func (s *Server) EndOfLog() (end End, err error) {
	c, err := s.Connect("")
	if err != nil {
		return End{}, err
	}
	defer func() { err = errors.Join(err, c.Close()) }()
	show := "SHOW MASTER STATUS"
	if !s.Install.MariaDB && s.Install.AtLeast(8, 2, 0) {
		show = "SHOW BINARY LOG STATUS"
	}
	r, err := c.Execute(show)
	if err != nil {
		return End{}, fmt.Errorf("reading the end of the binlog: %w", err)
	}
	text := make([]string, 5)
	for i := range min(len(text), r.ColumnNumber()) {
		value, err := r.GetString(0, i)
		if err != nil {
			return End{}, fmt.Errorf("reading the end of the binlog: %w", err)
		}
		text[i] = strings.Clone(value)
	}
	end = End{File: text[0], GTIDs: strings.ReplaceAll(text[4], "\n", "")}
	if end.Offset, err = strconv.ParseUint(text[1], 10, 64); err != nil {
		return End{}, fmt.Errorf("reading the end of the binlog: %w", err)
	}
	if !s.Install.MariaDB {
		return end, nil
	}
	if r, err = c.Execute(fmt.Sprintf("SELECT BINLOG_GTID_POS('%s', %d)", end.File, end.Offset)); err != nil {
		return End{}, fmt.Errorf("reading the GTIDs of the binlog: %w", err)
	}
	if end.GTIDs, err = r.GetString(0, 0); err != nil {
		return End{}, fmt.Errorf("reading the GTIDs of the binlog: %w", err)
	}
	end.GTIDs = strings.Clone(end.GTIDs)
	return end, nil
}

// ResetLog gives the statement that removes the binlog and forgets its transactions.
func (s *Server) ResetLog() string {
	if !s.Install.MariaDB && s.Install.AtLeast(8, 2, 0) {
		return "RESET BINARY LOGS AND GTIDS"
	}
	return "RESET MASTER"
}
