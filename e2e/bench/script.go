package bench

import (
	"fmt"
	"strings"
)

// Table says how the lake table is laid out.
type Table struct {
	Buckets   int
	Format    string
	Changelog string
	// Extra is further table options, each as 'k' = 'v'.
	Extra []string
}

// job says what script to run.
type job struct {
	name      string
	port      int
	database  string
	warehouse string
	interval  string
	startup   []string // source options of the start
	table     Table
}

// script gives the job's text.
func (j job) script() string {
	var b strings.Builder
	fmt.Fprintf(&b, `SET 'pipeline.name' = '%s';
SET 'execution.checkpointing.interval' = '%s';
SET 'execution.checkpointing.mode' = 'EXACTLY_ONCE';

CREATE CATALOG lake WITH ('type' = 'paimon', 'warehouse' = 'file://%s');
CREATE DATABASE IF NOT EXISTS lake.bench;

`, j.name, j.interval, j.warehouse)
	fmt.Fprintf(&b, `CREATE TEMPORARY TABLE src (
%s  PRIMARY KEY (order_id) NOT ENFORCED
) WITH (
  %s
);

`, columns, options(append([]string{
		"'connector' = 'mysql-cdc'", "'hostname' = '127.0.0.1'", fmt.Sprintf("'port' = '%d'", j.port),
		"'username' = 'root'", "'password' = ''", fmt.Sprintf("'database-name' = '%s'", j.database),
		"'table-name' = 'orders'", "'server-id' = '5400-5420'", "'server-time-zone' = 'UTC'",
	}, j.startup...)))
	fmt.Fprintf(&b, `CREATE TABLE IF NOT EXISTS lake.bench.orders (
%s  PRIMARY KEY (dt, order_id) NOT ENFORCED
) PARTITIONED BY (dt) WITH (
  %s
);

INSERT INTO lake.bench.orders SELECT * FROM src;
`, columns, options(append([]string{
		fmt.Sprintf("'bucket' = '%d'", j.table.Buckets), "'bucket-key' = 'order_id'", fmt.Sprintf("'file.format' = '%s'", j.table.Format),
		"'merge-engine' = 'deduplicate'", fmt.Sprintf("'changelog-producer' = '%s'", j.table.Changelog),
		"'snapshot.num-retained.min' = '200'", "'snapshot.num-retained.max' = '1000'", "'snapshot.time-retained' = '48h'",
	}, j.table.Extra...)))
	return b.String()
}

const columns = `  order_id BIGINT NOT NULL,
  user_id BIGINT,
  order_amount DECIMAL(18, 2),
  order_status TINYINT,
  create_time TIMESTAMP(3),
  update_time TIMESTAMP(3),
  dt STRING NOT NULL,
`

func options(o []string) string { return strings.Join(o, ",\n  ") }
