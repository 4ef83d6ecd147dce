package demo

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strconv"
	"time"

	"leat/configs"
	"leat/internal/job"
	"leat/internal/mysqld"
)

// ErrDiffers says that source and lake are not equal at the end.
var ErrDiffers = errors.New("source and lake differ")

var errEnded = errors.New("exit code 0")

// Options of the demo.
type Options struct {
	// MySQL is the URL of a server at hand; empty starts one.
	MySQL string
	// Dir is emptied and holds script, warehouse and state; empty is leat/demo in the user's cache folder.
	Dir string
	// Rows is the number of orders before the workload begins.
	Rows int64
	// Busy is how long the workload runs before and after the kill.
	Busy time.Duration
	// Program is the leat binary to run the job with.
	Program string
	Out     io.Writer
}

// run is one demo under way.
type run struct {
	opt   Options
	mysql mysqlURL
	src   *source
	dir   string
}

// Run shows the whole story. The error wraps ErrDiffers if the lake is not what
// the source is.
func Run(ctx context.Context, opt Options) error {
	r := &run{opt: opt}
	if err := r.prepareDir(); err != nil {
		return err
	}
	stop, err := r.server(ctx)
	if err != nil {
		return err
	}
	defer stop()
	if r.src, err = connect(ctx, r.mysql); err != nil {
		return fmt.Errorf("%w: %w", job.ErrNotStarted, err)
	}
	defer r.src.close()
	r.say("making %d orders", opt.Rows)
	if err := r.src.create(ctx, opt.Rows); err != nil {
		return err
	}
	if err := r.crashAndResume(ctx); err != nil {
		return err
	}
	return r.compare(ctx)
}

func (r *run) say(format string, args ...any) { fmt.Fprintf(r.opt.Out, "\n== "+format+"\n", args...) }

func (r *run) prepareDir() error {
	r.dir = r.opt.Dir
	if r.dir == "" {
		cache, err := os.UserCacheDir()
		if err != nil {
			return fmt.Errorf("finding a folder for the demo: %w", err)
		}
		r.dir = filepath.Join(cache, "leat", "demo")
	}
	for _, d := range []string{"warehouse", "state"} {
		if err := os.RemoveAll(filepath.Join(r.dir, d)); err != nil {
			return fmt.Errorf("emptying the folder of the demo: %w", err)
		}
	}
	if err := os.MkdirAll(r.dir, 0o755); err != nil {
		return fmt.Errorf("making the folder of the demo: %w", err)
	}
	return r.writeScript()
}

func (r *run) script() string { return filepath.Join(r.dir, "orders.sql") }

func (r *run) warehouse() string { return filepath.Join(r.dir, "warehouse") }

func (r *run) writeScript() error {
	// A script, not data: nothing depends on its surviving a crash.
	f, err := os.OpenFile(r.script(), os.O_CREATE|os.O_TRUNC|os.O_WRONLY, 0o644)
	if err != nil {
		return fmt.Errorf("writing the script: %w", err)
	}
	_, err = f.WriteString(configs.OrdersSQL)
	return errors.Join(err, f.Close())
}

// server gives the MySQL to use and what ends it.
func (r *run) server(ctx context.Context) (stop func(), err error) {
	if r.opt.MySQL != "" {
		r.mysql, err = parseURL(r.opt.MySQL)
		return func() {}, err
	}
	r.say("starting a MySQL (one is fetched and unpacked if no mysqld 8 or 9 is on PATH)")
	srv, err := mysqld.Start(ctx, mysqld.Options{Progress: func(line string) { fmt.Fprintln(r.opt.Out, "   "+line) }})
	if err != nil {
		return nil, err
	}
	fmt.Fprintf(r.opt.Out, "   MySQL %s on 127.0.0.1:%d\n", srv.Version, srv.Port)
	r.mysql = mysqlURL{host: "127.0.0.1", port: srv.Port, user: "root", database: "leat_demo"}
	return func() {
		if err := srv.Stop(); err != nil {
			fmt.Fprintf(r.opt.Out, "   stopping MySQL: %v\n", err)
		}
	}, nil
}

// crashAndResume runs the job under the workload, kills it in mid-stream, lets
// it resume, stops the workload and catches up.
func (r *run) crashAndResume(ctx context.Context) error {
	stop, worked := make(chan struct{}), make(chan error, 1)
	worker, err := connect(ctx, r.mysql)
	if err != nil {
		return err
	}
	defer worker.close()
	worker.next = r.src.next
	if err := worker.exec("USE `" + r.mysql.database + "`"); err != nil {
		return err
	}
	go func() { worked <- worker.work(ctx, stop) }()

	r.say("running %s with a live workload, then SIGKILL in mid-stream", r.script())
	err = r.underLoad(ctx)
	close(stop)
	err = errors.Join(err, <-worked)
	if err != nil {
		return err
	}
	r.say("workload stopped after %d transactions with %d changed rows; catching up", worker.transactions, worker.changes)
	return r.start(ctx, "--catch-up").wait()
}

func (r *run) underLoad(ctx context.Context) error {
	job := r.start(ctx)
	if err := job.runFor(ctx, r.opt.Busy); err != nil {
		return err
	}
	job.kill()
	fmt.Fprintln(r.opt.Out, "   killed with SIGKILL")
	r.say("resuming from the last checkpoint")
	job = r.start(ctx)
	if err := job.runFor(ctx, r.opt.Busy); err != nil {
		return err
	}
	return job.stop()
}

func (r *run) env() []string {
	return append(os.Environ(),
		"MYSQL_HOST="+r.mysql.host, "MYSQL_PORT="+strconv.Itoa(r.mysql.port), "MYSQL_USER="+r.mysql.user, "MYSQL_PASSWORD="+r.mysql.password,
		"MYSQL_DATABASE="+r.mysql.database, "WAREHOUSE="+r.warehouse(), "LEAT_STATE_DIR="+filepath.Join(r.dir, "state"))
}
