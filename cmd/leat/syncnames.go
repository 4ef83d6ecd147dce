package main

import (
	"errors"
	"fmt"
	"net/url"
	"strconv"
	"strings"

	"leat/configs"
	"leat/internal/connect"
)

// mysqlURL is mysql://user:password@host:port/database, read.
type mysqlURL struct {
	host, user, password, database string
	hasPassword                    bool
	// port is empty if the URL has none.
	port string
}

// parseMySQLURL reads a URL, in whose parts ${NAME} stands for a variable, taken
// as it is, and %XX for a byte. No error shows the password.
func parseMySQLURL(text string, env func(string) (string, bool)) (*mysqlURL, error) {
	bad := func(why string) error {
		return usageError("--url: "+why, "write mysql://user:password@host:3306/, with %40 for an @ inside")
	}
	rest, ok := strings.CutPrefix(text, "mysql://")
	if !ok {
		return nil, bad("this is no MySQL URL")
	}
	u := &mysqlURL{}
	var account string
	if at := strings.LastIndex(rest, "@"); at >= 0 {
		account, rest = rest[:at], rest[at+1:]
	}
	hostPort, path, _ := strings.Cut(rest, "/")
	if strings.ContainsAny(rest, "?#") {
		return nil, usageError("--url: it takes no parameters", "give options by --mysql-conf key=value")
	}
	user, word, hasWord := cutAccount(account)
	u.hasPassword = hasWord
	host, port := hostPort, ""
	if i := strings.LastIndex(hostPort, ":"); i >= 0 && !strings.HasSuffix(hostPort, "]") {
		host, port = hostPort[:i], hostPort[i+1:]
	}
	for _, part := range []struct {
		to   *string
		text string
	}{
		{&u.user, user}, {&u.password, word}, {&u.host, strings.Trim(host, "[]")}, {&u.port, port}, {&u.database, strings.TrimSuffix(path, "/")},
	} {
		var err error
		if *part.to, err = expandPart(part.text, env); err != nil {
			return nil, bad(err.Error())
		}
	}
	if u.host == "" {
		return nil, bad("it names no host")
	}
	if n, err := strconv.Atoi(u.port); u.port != "" && (err != nil || n < 1 || n > 65535) {
		return nil, bad("the port is no number from 1 to 65535")
	}
	return u, nil
}

// cutAccount splits user:password at the first colon outside ${…}.
func cutAccount(s string) (user, word string, hasWord bool) {
	depth := 0
	for i := range len(s) {
		switch s[i] {
		case '{':
			depth++
		case '}':
			depth--
		case ':':
			if depth == 0 {
				return s[:i], s[i+1:], true
			}
		}
	}
	return s, "", false
}

// expandPart puts in the variables of a part and decodes what is written out.
func expandPart(s string, env func(string) (string, bool)) (string, error) {
	var b strings.Builder
	for {
		before, after, found := strings.Cut(s, "${")
		text, err := url.PathUnescape(before)
		if err != nil {
			return "", errors.New("a % is not followed by two hexadecimal digits")
		}
		b.WriteString(text)
		if !found {
			return b.String(), nil
		}
		name, rest, closed := strings.Cut(after, "}")
		if !closed {
			return "", errors.New("a ${ has no }")
		}
		value, ok := env(name)
		if !ok {
			return "", fmt.Errorf("the variable %s is not set", name)
		}
		b.WriteString(value)
		s = rest
	}
}

// options sets what the URL says as options of a mysql-cdc table.
func (u *mysqlURL) options(v configs.Values) {
	v["hostname"] = configs.Value{Text: u.host}
	if u.port != "" {
		v["port"] = configs.Value{Text: u.port}
	}
	if u.user != "" {
		v["username"] = configs.Value{Text: u.user}
	}
	if u.hasPassword {
		v["password"] = configs.Value{Text: u.password}
	}
}

// patterns reads lists of names by commas: database.table, database.*, or a
// table of the given database. `a.b` in backticks is one name.
func patterns(flag string, lists []string, database string) ([]connect.TablePattern, error) {
	var out []connect.TablePattern
	for _, list := range lists {
		rest := list
		for {
			p, more, err := onePattern(rest, database)
			if err != nil {
				return nil, usageError(fmt.Sprintf("%s '%s': %v", flag, list, err), "write database.table or 'database.*', several by commas; names of other signs in `backticks`")
			}
			out = append(out, p)
			if more == "" {
				break
			}
			rest = more[1:]
		}
	}
	return out, nil
}

// onePattern reads the first name of s; more is empty or begins with a comma.
func onePattern(s, database string) (p connect.TablePattern, more string, err error) {
	first, more, err := word(s)
	if err != nil {
		return p, "", err
	}
	p = connect.TablePattern{Database: database, Table: first}
	if strings.HasPrefix(more, ".") {
		p.Database = first
		if p.Table, more, err = word(more[1:]); err != nil {
			return p, "", err
		}
	}
	switch {
	case p.Database == "":
		return p, "", fmt.Errorf("table %s has no database", p.Table)
	case strings.Contains(p.Database, "*"):
		return p, "", errors.New("the database is a pattern; leat takes * for the table only")
	case more != "" && more[0] != ',':
		return p, "", errors.New("a name is not followed by a comma")
	}
	return p, more, nil
}

// word reads a name, plain or in backticks.
func word(s string) (name, rest string, err error) {
	s = strings.TrimLeft(s, " ")
	if !strings.HasPrefix(s, "`") {
		end := strings.IndexAny(s, ".,")
		if end < 0 {
			end = len(s)
		}
		name, rest = strings.TrimSpace(s[:end]), s[end:]
		switch {
		case name == "":
			return "", "", errors.New("a name is missing")
		case name != "*" && strings.ContainsAny(name, "*?[](){}|^$+\\` "):
			return "", "", fmt.Errorf("'%s' is no plain name", name)
		}
		return name, rest, nil
	}
	for i := 1; i < len(s); i++ {
		switch {
		case s[i] != '`':
		case strings.HasPrefix(s[i+1:], "`"):
			i++
		case i == 1:
			return "", "", errors.New("a name is missing")
		default:
			return strings.ReplaceAll(s[1:i], "``", "`"), strings.TrimLeft(s[i+1:], " "), nil
		}
	}
	return "", "", errors.New("a backtick is not closed")
}
