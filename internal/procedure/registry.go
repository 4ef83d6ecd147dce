package procedure

import (
	"context"
	"slices"
	"strings"
	"time"

	"leat/catalog"
	"leat/configs"
	"leat/internal/columnar"
	"leat/internal/diag"
	"leat/internal/fileio"
	"leat/lakehouse/systable"
)

// Env is what procedures work on.
type Env struct {
	FS      fileio.FS
	Catalog *catalog.FileSystem
	// Database is the one of table names without one.
	Database string
	// Zone is that of times in arguments.
	Zone *time.Location
	Now  func() time.Time
}

// Procedure is one procedure of sys.
type Procedure struct {
	Name   string
	Params []Param
	// refuse says what to do instead of a procedure that leat does not run.
	refuse string
	result []columnar.Field
	run    func(ctx context.Context, x *execution) error
}

// Result gives the columns of the result.
func (p *Procedure) Result() *columnar.Schema { return &columnar.Schema{Fields: p.result} }

// execution is one call under way.
type execution struct {
	*Call
	env Env
	out *systable.Sheet
}

// Run carries a call out and gives its rows, which the caller releases.
func Run(ctx context.Context, c *Call, env Env) (*columnar.Batch, error) {
	if env.Now == nil {
		env.Now = time.Now
	}
	if env.Zone == nil {
		env.Zone = time.UTC
	}
	x := &execution{Call: c, env: env, out: systable.NewSheet(c.Procedure.Result())}
	err := c.Procedure.run(ctx, x)
	b := x.out.Batch()
	if err != nil {
		b.Release()
		return nil, positioned(err, c.At)
	}
	return b, nil
}

func positioned(err error, at diag.Pos) error {
	var l diag.List
	l.Add(err)
	for _, e := range l {
		if e.Pos.IsZero() {
			e.Pos = at
		}
	}
	return l.Err()
}

// Find gives the procedure called name, or an error with the nearest name.
func Find(name string) (*Procedure, error) {
	name = strings.ToLower(name)
	if i := slices.IndexFunc(all, func(p *Procedure) bool { return p.Name == name }); i >= 0 {
		return all[i], nil
	}
	var names []string
	for _, p := range all {
		names = append(names, p.Name)
	}
	e := &diag.Error{Domain: diag.User, Code: diag.CodeUnknownFunc, Msg: "there is no procedure sys." + name, Hint: "see SHOW PROCEDURES"}
	if near := configs.Nearest(name, names); near != "" {
		e.Hint = "did you mean sys." + near + "?"
	}
	return nil, e
}

// Names lists the procedures that run.
func Names() []string {
	var out []string
	for _, p := range all {
		if p.refuse == "" {
			out = append(out, p.Name)
		}
	}
	slices.Sort(out)
	return out
}

// Parameters and results that many procedures share.
var (
	table     = Param{Name: "table", Required: true}
	tag       = Param{Name: "tag", Required: true}
	maybeTag  = Param{Name: "tag"}
	snapshot  = Param{Name: "snapshot_id", Type: Number}
	retained  = Param{Name: "time_retained"}
	olderThan = Param{Name: "older_than"}

	ok        = []columnar.Field{{Name: "result", Type: columnar.StringType()}}
	count     = []columnar.Field{{Name: "result", Type: columnar.Of(columnar.BigInt)}}
	rolled    = []columnar.Field{{Name: "previous_snapshot_id", Type: columnar.Of(columnar.BigInt)}, {Name: "current_snapshot_id", Type: columnar.Of(columnar.BigInt)}}
	partition = []columnar.Field{{Name: "partition", Type: columnar.StringType()}}
	names     = []columnar.Field{{Name: "name", Type: columnar.StringType()}}
)

func text(name string) Param   { return Param{Name: name} }
func number(name string) Param { return Param{Name: name, Type: Number} }
func flag(name string) Param   { return Param{Name: name, Type: Bool} }
func need(p Param) Param       { p.Required = true; return p }

const onFlink = "run it on Flink or Spark: the table stays as it is"

func refused(hint string, names string) []*Procedure {
	var out []*Procedure
	for n := range strings.FieldsSeq(names) {
		out = append(out, &Procedure{Name: n, refuse: hint})
	}
	return out
}

// all is every procedure of Paimon that is known.
var all = append([]*Procedure{
	{Name: "compact", Params: []Param{table, text("partitions"), text("order_strategy"), text("order_by"), text("options"), text("where"), text("partition_idle_time"), text("compact_strategy")}, result: ok, run: compact},
	{Name: "compact_database", Params: []Param{text("including_databases"), text("mode"), text("including_tables"), text("excluding_tables"), text("table_options"), text("partition_idle_time"), text("compact_strategy")}, result: names, run: compactDatabase},
	{Name: "expire_snapshots", Params: []Param{table, number("retain_max"), number("retain_min"), olderThan, number("max_deletes"), text("options")}, result: count, run: expireSnapshots},
	{Name: "expire_changelogs", Params: []Param{table, number("retain_max"), number("retain_min"), olderThan, number("max_deletes"), flag("delete_all")}, result: count, run: expireChangelogs},
	{Name: "expire_partitions", Params: []Param{table, need(text("expiration_time")), text("timestamp_formatter"), text("timestamp_pattern"), text("expire_strategy"), number("max_expires"), text("options")}, result: partition, run: expirePartitions},
	{Name: "drop_partition", Params: []Param{table, {Name: "partitions", Required: true, Many: true}}, result: partition, run: dropPartition},
	{Name: "create_tag", Params: []Param{table, tag, snapshot, retained}, result: ok, run: createTag},
	{Name: "replace_tag", Params: []Param{table, tag, snapshot, retained}, result: ok, run: replaceTag},
	{Name: "delete_tag", Params: []Param{table, tag}, result: ok, run: deleteTag},
	{Name: "rename_tag", Params: []Param{table, need(text("tagName")), need(text("targetTagName"))}, result: ok, run: renameTag},
	{Name: "expire_tags", Params: []Param{table, olderThan}, result: []columnar.Field{{Name: "expired_tags", Type: columnar.StringType()}}, run: expireTags},
	{Name: "create_tag_from_timestamp", Params: []Param{table, tag, {Name: "timestamp", Required: true}, retained}, result: tagRow, run: tagFromTimestamp},
	{Name: "create_tag_from_watermark", Params: []Param{table, tag, {Name: "watermark", Type: Number, Required: true}, retained}, result: tagRow, run: tagFromWatermark},
	{Name: "trigger_tag_automatic_creation", Params: []Param{table}, result: ok, run: triggerTags},
	{Name: "rollback_to", Params: []Param{table, maybeTag, snapshot}, result: rolled, run: rollbackTo},
	{Name: "rollback_to_timestamp", Params: []Param{table, {Name: "timestamp", Required: true}}, result: rolled, run: rollbackToTimestamp},
	{Name: "rollback_to_watermark", Params: []Param{table, {Name: "watermark", Type: Number, Required: true}}, result: rolled, run: rollbackToWatermark},
	{Name: "rollback_to_as_latest", Params: []Param{table, maybeTag, snapshot}, result: []columnar.Field{rolled[0], {Name: "rolled_back_snapshot_id", Type: columnar.Of(columnar.BigInt)}, rolled[1]}, run: rollbackAsLatest},
	{Name: "create_branch", Params: []Param{table, {Name: "branch", Required: true}, maybeTag, flag("ignoreIfExists")}, result: ok, run: createBranch},
	{Name: "delete_branch", Params: []Param{table, {Name: "branch", Required: true}}, result: ok, run: deleteBranch},
	{Name: "rename_branch", Params: []Param{table, {Name: "from_branch", Required: true}, {Name: "to_branch", Required: true}}, result: ok, run: renameBranch},
	{Name: "fast_forward", Params: []Param{table, {Name: "branch", Required: true}}, result: ok, run: fastForward},
	{Name: "remove_orphan_files", Params: []Param{table, olderThan, flag("dry_run"), number("parallelism"), text("mode")}, result: []columnar.Field{{Name: "deleted_file_count", Type: columnar.Of(columnar.BigInt)}, {Name: "deleted_file_total_len_in_bytes", Type: columnar.Of(columnar.BigInt)}}, run: removeOrphans},
	{Name: "reset_consumer", Params: []Param{table, {Name: "consumer_id", Required: true}, number("next_snapshot_id")}, result: ok, run: resetConsumer},
	{Name: "clear_consumers", Params: []Param{table, text("including_consumers"), text("excluding_consumers")}, result: ok, run: clearConsumers},
	{Name: "mark_partition_done", Params: []Param{table, {Name: "partitions", Required: true}}, result: partition, run: markPartitionDone},
	{Name: "compact_manifest", Params: []Param{table, text("options"), flag("dry_run")}, result: ok, run: compactManifest},
	{Name: "alter_column_default_value", Params: []Param{table, {Name: "column", Required: true}, {Name: "default_value", Required: true}}, result: ok, run: alterDefault},
	{Name: "rescale", Params: []Param{table, number("bucket_num"), text("partition"), number("scan_parallelism"), number("sink_parallelism")}, result: ok, run: rescale},
}, slices.Concat(
	refused(onFlink, "remove_unexisting_files remove_unexisting_manifests purge_files repair repair_earliest_snapshot rewrite_file_index merge_into clone copy_files merge_branch"),
	refused("write the query itself: leat keeps no views and functions in a catalog", "alter_view_dialect create_function alter_function drop_function"),
	refused("migrate on Spark or Flink, then let leat write on", "migrate_table migrate_database"),
	refused(onFlink, "query_service create_privileged_user drop_privileged_user grant_privilege_to_user revoke_privilege_from_user init_file_based_privilege compact_chain_table create_global_index drop_global_index full_text_search vector_search data_evolution_merge_into materialize_deletion_vectors reassign_row_id"),
)...)
