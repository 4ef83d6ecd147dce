package badinput

import (
	"fmt"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"leat/e2e/harness"
	"leat/e2e/judge"
	"leat/internal/mysqld"
)

func TestMain(m *testing.M) { os.Exit(harness.Main(m)) }

// secret is the password of every account; no output may hold it.
const secret = "Sup3r-s3cret!pw"

const good = `SET 'pipeline.name' = 'bad';
SET 'execution.checkpointing.interval' = '200ms';
CREATE TEMPORARY TABLE src (
  id BIGINT NOT NULL,
  name STRING,
  amount DECIMAL(10, 2),
  PRIMARY KEY (id) NOT ENFORCED
) WITH (
  'connector' = 'mysql-cdc', 'hostname' = '${MYSQL_HOST}', 'port' = '${MYSQL_PORT}',
  'username' = '${MYSQL_USER}', 'password' = '${MYSQL_PASSWORD}',
  'database-name' = '${MYSQL_DATABASE}', 'table-name' = 'things', 'connect.timeout' = '2s', 'connect.max-retries' = '1'
);
CREATE CATALOG lake WITH ('type' = 'paimon', 'warehouse' = '${WAREHOUSE}');
USE CATALOG lake;
CREATE DATABASE IF NOT EXISTS d;
CREATE TABLE IF NOT EXISTS d.things (
  id BIGINT NOT NULL,
  name STRING,
  amount DECIMAL(10, 2),
  PRIMARY KEY (id) NOT ENFORCED
) WITH ('bucket' = '2', 'bucket-key' = 'id', 'file.format' = 'parquet');
INSERT INTO d.things SELECT id, name, amount FROM default_catalog.default_database.src;
`

// prepare makes the source table and the accounts on a server, once.
func prepare(t *testing.T, s *mysqld.Server) {
	t.Helper()
	judge.Exec(t, s, "CREATE DATABASE IF NOT EXISTS bad",
		"CREATE TABLE IF NOT EXISTS bad.things (id BIGINT PRIMARY KEY, name VARCHAR(50), amount DECIMAL(10,2), place POINT)",
		"REPLACE INTO bad.things (id, name, amount) VALUES (1, 'a', 1.5), (2, 'b', NULL)")
	for user, grants := range map[string][]string{
		"reader":   {"SELECT ON bad.*", "REPLICATION SLAVE, REPLICATION CLIENT ON *.*"},
		"noslave":  {"SELECT ON bad.*", "REPLICATION CLIENT ON *.*"},
		"noclient": {"SELECT ON bad.*", "REPLICATION SLAVE ON *.*"},
		"noselect": {"REPLICATION SLAVE, REPLICATION CLIENT ON *.*"},
	} {
		judge.Exec(t, s, fmt.Sprintf("CREATE USER IF NOT EXISTS %s@'%%' IDENTIFIED BY '%s'", user, secret))
		for _, g := range grants {
			judge.Exec(t, s, fmt.Sprintf("GRANT %s TO %s@'%%'", g, user))
		}
	}
}

func envOf(s *mysqld.Server) []string {
	return append(harness.SourceEnv(s, "bad"), "MYSQL_USER=reader", "MYSQL_PASSWORD="+secret)
}

// want is what a failing command has to say.
type want struct {
	exit int
	code int
	// at is the position in the script, such as 12:3; "" for errors without one.
	at string
	// says are parts of the text.
	says []string
}

var doLine = regexp.MustCompile(`(?m)^  do: \S`)

func (w want) check(t *testing.T, r harness.Result) {
	t.Helper()
	if r.Code != w.exit {
		t.Errorf("exit code %d, want %d", r.Code, w.exit)
	}
	head := fmt.Sprintf("error LEAT-%04d: ", w.code)
	if w.at != "" {
		head = "script.sql:" + w.at + ": " + head
	}
	found := false
	for line := range strings.Lines(r.Stderr) {
		found = found || strings.HasPrefix(line, head)
	}
	if !found {
		t.Errorf("no line begins with %q", head)
	}
	if w.at != "" && !regexp.MustCompile(`(?m)^ *\d+ \| .*\n *\| *\^+$`).MatchString(r.Stderr) {
		t.Error("no line of the script is marked")
	}
	for _, s := range w.says {
		if !strings.Contains(r.Stderr, s) {
			t.Errorf("it does not say %q", s)
		}
	}
	if !doLine.MatchString(r.Stderr) {
		t.Error("there is no do: line")
	}
	if strings.Contains(r.Stderr+r.Stdout, secret) {
		t.Error("the password is shown")
	}
	if t.Failed() {
		t.Logf("output:\n%s%s", r.Stdout, r.Stderr)
	}
}

// restOfSource is what follows the column name of the source table.
const restOfSource = "  amount DECIMAL(10, 2),\n  PRIMARY KEY (id) NOT ENFORCED\n) WITH (\n  'connector'"

// edit replaces old in a script, where it must be once.
func edit(t *testing.T, script, old, replacement string) string {
	t.Helper()
	if n := strings.Count(script, old); n != 1 {
		t.Fatalf("the script has %q %d times", old, n)
	}
	return strings.Replace(script, old, replacement, 1)
}

// TestGoodScript shows that the script all others are made of runs.
func TestGoodScript(t *testing.T) {
	t.Parallel()
	s := judge.MySQL(t)
	prepare(t, s)
	j := harness.NewJob(t, good, envOf(s)...)
	r := j.CatchUp("--log-level", "debug")
	if strings.Contains(r.Stderr+r.Stdout, secret) {
		t.Error("the password is shown")
	}
	j.Lake("d.things").CheckRows(t, judge.SourceRows(t, s, "SELECT id, name, amount FROM bad.things"))
}

func TestBadInput(t *testing.T) {
	t.Parallel()
	s := judge.MySQL(t)
	prepare(t, s)
	for name, c := range map[string]struct {
		// edits are pairs of old and new text of the good script.
		edits []string
		env   []string
		args  []string
		want  want
	}{
		"unknown SET key": {
			edits: []string{"SET 'execution.checkpointing.interval'", "SET 'execution.checkpointing.intervall'"},
			want:  want{2, 2105, "2:5", []string{"execution.checkpointing.intervall", "did you mean 'execution.checkpointing.interval'?"}},
		},
		"unknown source option": {
			edits: []string{"'hostname'", "'hostnme'"},
			want:  want{2, 2105, "9:30", []string{"hostnme", "did you mean 'hostname'?"}},
		},
		"unknown table option": {
			edits: []string{"'bucket-key'", "'bucket-kay'"},
			want:  want{2, 2105, "21:25", []string{"did you mean 'bucket-key'?"}},
		},
		"wrong type": {
			edits: []string{"'port' = '${MYSQL_PORT}'", "'port' = 'many'"},
			want:  want{2, 2107, "9:69", []string{"port", "many"}},
		},
		"wrong unit": {
			edits: []string{"'200ms'", "'200 fortnights'"},
			want:  want{2, 2107, "2:42", []string{"execution.checkpointing.interval", "fortnights"}},
		},
		"interval too short": {
			edits: []string{"'200ms'", "'10ms'"},
			want:  want{2, 2107, "2:42", []string{"100 ms"}},
		},
		"unknown column": {
			edits: []string{"SELECT id, name,", "SELECT id, nam,"},
			want:  want{2, 2102, "22:33", []string{"nam", "did you mean name?"}},
		},
		"column missing at the source": {
			edits: []string{"  name STRING,\n" + restOfSource, "  nam STRING,\n" + restOfSource, "SELECT id, name,", "SELECT id, nam,"},
			want:  want{2, 3006, "5:3", []string{"nam", "did you mean 'name'?"}},
		},
		"type that does not fit between query and table": {
			edits: []string{"SELECT id, name, amount", "SELECT id, name, name"},
			want:  want{2, 2104, "22:39", []string{"amount"}},
		},
		"type that does not fit the source": {
			edits: []string{"  name STRING,\n" + restOfSource, "  name DATE,\n" + restOfSource, "SELECT id, name,", "SELECT id, CAST(name AS STRING),"},
			want:  want{2, 3006, "5:3", []string{"name", "DATE", "VARCHAR(50)"}},
		},
		"missing source table": {
			edits: []string{"'things', 'connect", "'thinks', 'connect"},
			want:  want{2, 3005, "3:24", []string{"bad.thinks", "did you mean 'table-name' = 'things'?"}},
		},
		"missing source database": {
			edits: []string{"'${MYSQL_DATABASE}'", "'bat'"},
			env:   []string{"MYSQL_USER=root", "MYSQL_PASSWORD="}, // others may not see which databases there are
			want:  want{2, 3005, "3:24", []string{"bat"}},
		},
		"wrong password": {
			env:  []string{"MYSQL_PASSWORD=" + secret + "x"},
			want: want{2, 3002, "", []string{"reader"}},
		},
		"unreachable port": {
			env:  []string{"MYSQL_PORT=1"},
			want: want{2, 3001, "", []string{"127.0.0.1:1"}},
		},
		"unreachable host": {
			env:  []string{"MYSQL_HOST=no-such-host.invalid"},
			want: want{2, 3001, "", []string{"no-such-host.invalid"}},
		},
		"no REPLICATION SLAVE": {
			env:  []string{"MYSQL_USER=noslave"},
			want: want{2, 3003, "", []string{"REPLICATION SLAVE", "GRANT REPLICATION SLAVE ON *.* TO 'noslave'@'%'"}},
		},
		"no REPLICATION CLIENT": {
			env:  []string{"MYSQL_USER=noclient"},
			want: want{2, 3003, "", []string{"REPLICATION CLIENT", "GRANT REPLICATION CLIENT ON *.* TO 'noclient'@'%'"}},
		},
		"no SELECT": {
			env:  []string{"MYSQL_USER=noselect"},
			want: want{2, 3003, "3:24", []string{"bad.things", "GRANT SELECT ON `bad`.*"}},
		},
		"no primary key in an upsert sink": {
			edits: []string{"  amount DECIMAL(10, 2),\n  PRIMARY KEY (id) NOT ENFORCED\n) WITH ('bucket' = '2', 'bucket-key' = 'id', ", "  amount DECIMAL(10, 2)\n) WITH ('bucket' = '-1', "},
			want:  want{2, 2111, "21:13", []string{"PRIMARY KEY"}},
		},
		"bucket key outside the primary key": {
			edits: []string{"'bucket-key' = 'id'", "'bucket-key' = 'name'"},
			want:  want{2, 2107, "21:40", []string{"bucket-key", "name"}},
		},
		"a format that is not written": {
			edits: []string{"'file.format' = 'parquet'", "'file.format' = 'csv'"},
			want:  want{2, 2108, "21:62", []string{"csv", "write 'parquet'"}},
		},
		"unset variable": {
			edits: []string{"'${MYSQL_PASSWORD}'", "'${NO_SUCH_NAME}'"},
			want:  want{2, 1004, "10:47", []string{"NO_SUCH_NAME"}},
		},
		"syntax": {
			edits: []string{"INSERT INTO d.things SELECT", "INSERT INTO d.things SELEC"},
			want:  want{2, 1002, "22:22", nil},
		},
		"sink that is not there": {
			edits: []string{"INSERT INTO d.things", "INSERT INTO d.thinks"},
			want:  want{2, 2101, "22:13", []string{"did you mean"}},
		},
		"replace without fresh": {
			args: []string{"--replace"},
			want: want{2, 6001, "", []string{"--fresh"}},
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			script := good
			for pair := range slices.Chunk(c.edits, 2) {
				script = edit(t, script, pair[0], pair[1])
			}
			j := harness.NewJob(t, script, append(envOf(s), c.env...)...)
			before := harness.Tree(t, j.Warehouse())
			c.want.check(t, j.Run(append([]string{"--catch-up", "--log-level", "debug"}, c.args...)...))
			unchanged(t, before, harness.Tree(t, j.Warehouse()))
		})
	}
}

func unchanged(t *testing.T, before, after []string) {
	t.Helper()
	if b, a := strings.Join(before, "\n"), strings.Join(after, "\n"); a != b {
		t.Errorf("the warehouse changed from\n%s\nto\n%s", b, a)
	}
}

// TestAllErrorsAtOnce finds two errors of a script in one run.
func TestAllErrorsAtOnce(t *testing.T) {
	t.Parallel()
	script := strings.Replace(strings.Replace(good, "'200ms'", "'soon'", 1), "'file.format' = 'parquet'", "'file.format' = 'csv'", 1)
	j := harness.NewJob(t, script, envOf(&mysqld.Server{Port: 1})...)
	r := j.Run()
	want{2, 2107, "2:42", nil}.check(t, r)
	want{2, 2108, "21:62", nil}.check(t, r)
}

func TestServersThatCannotBeRead(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		flags []string
		want  want
	}{
		"binlog off":        {[]string{"--skip-log-bin"}, want{2, 3004, "", []string{"log_bin"}}},
		"row image minimal": {[]string{"--binlog-row-image=MINIMAL"}, want{2, 3004, "3:24", []string{"MINIMAL", "SET GLOBAL binlog_row_image = 'FULL'"}}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := judge.OwnMySQL(t, c.flags...)
			prepare(t, s)
			j := harness.NewJob(t, good, envOf(s)...)
			c.want.check(t, j.Run("--catch-up"))
			unchanged(t, nil, harness.Tree(t, j.Warehouse()))
		})
	}
}
