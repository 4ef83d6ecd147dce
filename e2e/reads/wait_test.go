package reads

import (
	"fmt"
	"os"
	"strings"
	"testing"

	"leat/e2e/harness"
	"leat/e2e/judge"
	"leat/internal/mysqld"
)

func TestMain(m *testing.M) { os.Exit(harness.Main(m)) }

// written runs a statement and gives the place of the source behind it.
func written(t *testing.T, s *mysqld.Server, statement string, gtids bool) string {
	t.Helper()
	judge.Exec(t, s, statement)
	switch end, err := s.EndOfLog(); {
	case err != nil:
		t.Fatal(err)
	case !gtids:
		return fmt.Sprintf("%s:%d", end.File, end.Offset)
	}
	query := "SELECT @@gtid_executed p"
	if s.Install.MariaDB {
		query = "SELECT @@gtid_binlog_pos p"
	}
	return judge.SourceRows(t, s, query)[0].Text("p")
}

func script(name string) string {
	return harness.Settings(name, "300ms") +
		harness.MySQLTable("src", "id BIGINT NOT NULL, v STRING, PRIMARY KEY (id) NOT ENFORCED", "orders") + harness.LakeDatabase +
		harness.LakeTable("orders", "id BIGINT NOT NULL, v STRING, PRIMARY KEY (id) NOT ENFORCED", "", append(harness.KeepAll(), "bucket", "1")...) +
		"INSERT INTO orders SELECT * FROM default_catalog.default_database.src;\n"
}

// TestReadYourWrites writes a row to the source and reads the table at once: the
// read waits until the row is there, by GTID, by file and offset, and by now.
func TestReadYourWrites(t *testing.T) {
	t.Parallel()
	for name, s := range map[string]*mysqld.Server{"mysql": judge.MySQL(t), "files": judge.MySQL(t, "--gtid-mode=OFF", "--enforce-gtid-consistency=OFF"), "mariadb": judge.MariaDB(t)} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			db := "e2e_reads_" + name
			judge.Exec(t, s, "DROP DATABASE IF EXISTS "+db, "CREATE DATABASE "+db, "CREATE TABLE "+db+".orders (id BIGINT PRIMARY KEY, v TEXT)", "CREATE TABLE "+db+".other (id BIGINT PRIMARY KEY)")
			j := harness.NewJob(t, script(name), harness.SourceEnv(s, db)...)
			run := j.Start()
			j.Wait(name, "snapshot")
			shell := func(statements string) harness.Result {
				return j.Leat("shell", "--warehouse", j.Warehouse(), "--output", "csv", "-e", statements)
			}
			read := func(settings string, id int) {
				t.Helper()
				r := shell(settings + fmt.Sprintf("; SELECT COUNT(*) FROM d.orders WHERE id = %d", id))
				if r.Code != 0 || !strings.HasSuffix(r.Stdout, "\n1\n") {
					t.Fatalf("%s, row %d: exit code %d\n%s%s", settings, id, r.Code, r.Stdout, r.Stderr)
				}
			}
			insert := func(table string, id int) string {
				return fmt.Sprintf("INSERT INTO %s.%s (id) VALUES (%d)", db, table, id)
			}
			gtids := name != "files"
			var places []string
			for id := 1; id <= 5; id++ {
				places = append(places, written(t, s, insert("orders", id), gtids))
				read("SET 'leat.read.wait-for' = '"+places[id-1]+"'", id)
			}
			for id := 6; id <= 8; id++ {
				judge.Exec(t, s, insert("orders", id))
				read("SET 'leat.read.wait-for' = 'now'", id)
			}
			// What changes nothing in the table is waited for too.
			read("SET 'leat.read.wait-for' = '"+written(t, s, insert("other", 1), gtids)+"'", 8)
			for id, place := range places {
				r := shell(fmt.Sprintf("SELECT id FROM d.orders /*+ OPTIONS('scan.source-%s' = '%s') */ WHERE id = %d", kind(name), place, id+1))
				if !strings.HasSuffix(r.Stdout, fmt.Sprintf("\n%d\n", id+1)) {
					t.Errorf("as of %s: %s%s", place, r.Stdout, r.Stderr)
				}
			}
			run.Stop()
			never := written(t, s, insert("orders", 9), gtids)
			for settings, says := range map[string]string{
				"SET 'leat.read.wait-for' = 'now'":                                                   "no job that runs here carries changes into it",
				"SET 'leat.read.wait-for' = 'soon'":                                                  "'soon' is no place in a binlog",
				"SET 'leat.read.wait-timeout' = '0'":                                                 "must be more than 0",
				"SET 'leat.read.wait-timeout' = '300ms'; SET 'leat.read.wait-for' = '" + never + "'": "no job that runs here writes it",
			} {
				if r := shell(settings + "; SELECT * FROM d.orders"); r.Code == 0 || !strings.Contains(r.Stderr, says) {
					t.Errorf("%s: exit code %d, %s%s", settings, r.Code, r.Stdout, r.Stderr)
				}
			}
		})
	}
}

func kind(name string) string {
	if name == "files" {
		return "position"
	}
	return "gtid"
}
