package console

import (
	"context"
	"fmt"
	"os"
	"strings"

	"leat/internal/diag"
	"leat/internal/query"
	"leat/sqlfront"
)

// command is one of the commands that begin with a backslash.
type command struct {
	name, argument, text string
	run                  func(c *Console, ctx context.Context, arg string) error
}

// commands lists them all, in the order in which \? does.
func commands() []command {
	return []command{
		{`\?`, "", "list these commands", (*Console).help},
		{`\q`, "", "leave", func(*Console, context.Context, string) error { return errQuit }},
		{`\l`, "", "list the databases", statement("SHOW DATABASES")},
		{`\c`, "DATABASE", "make a database current", (*Console).use},
		{`\d`, "[TABLE]", "describe a table, or list the tables", (*Console).describe},
		{`\jobs`, "", "list the jobs", statement("SHOW JOBS")},
		{`\i`, "FILE", "run the statements of a file", (*Console).include},
		{`\o`, "FORMAT", "choose the form of results: " + strings.Join(query.Formats, ", "), (*Console).format},
		{`\x`, "[on|off]", "write each row as a block of lines", toggle("expanded rows", func(c *Console) *bool { return &c.expanded })},
		{`\timing`, "[on|off]", "say how long statements take", toggle("timing", func(c *Console) *bool { return &c.timing })},
	}
}

// command runs an entry that begins with a backslash.
func (c *Console) command(ctx context.Context, text string) error {
	name, arg, _ := strings.Cut(strings.TrimRight(text, "; \t"), " ")
	arg = strings.TrimSpace(arg)
	for _, k := range commands() {
		if k.name != name {
			continue
		}
		if arg != "" && k.argument == "" {
			return usage(name+" takes nothing behind it", "write "+name)
		}
		return k.run(c, ctx, arg)
	}
	return usage("there is no command "+name, `\? lists the commands`)
}

func usage(msg, hint string) error {
	return &diag.Error{Domain: diag.User, Code: diag.CodeUsage, Msg: msg, Hint: hint}
}

func statement(text string) func(*Console, context.Context, string) error {
	return func(c *Console, ctx context.Context, _ string) error { return c.statements(ctx, "", text) }
}

func (c *Console) help(context.Context, string) error {
	for _, k := range commands() {
		fmt.Fprintf(c.Messages, "  %-18s %s\n", strings.TrimSpace(k.name+" "+k.argument), k.text)
	}
	fmt.Fprintln(c.Messages, `Statements end with ";". Tab completes, Ctrl-R searches what was entered, Ctrl-C stops what runs.`)
	return nil
}

func (c *Console) use(ctx context.Context, arg string) error {
	if arg == "" {
		return usage(`\c needs the name of a database`, `write \c shop, or \c lake.shop`)
	}
	return c.statements(ctx, "", "USE "+quoted(arg))
}

func (c *Console) describe(ctx context.Context, arg string) error {
	if arg == "" {
		return c.statements(ctx, "", "SHOW TABLES")
	}
	return c.statements(ctx, "", "DESCRIBE "+quoted(arg))
}

// quoted puts the parts of a name into backticks where they need them.
func quoted(name string) string {
	if strings.Contains(name, "`") {
		return name
	}
	parts := strings.Split(name, ".")
	for i := range parts {
		parts[i] = sqlfront.QuoteName(parts[i])
	}
	return strings.Join(parts, ".")
}

// include runs a file up to its first error.
func (c *Console) include(ctx context.Context, arg string) error {
	if arg == "" {
		return usage(`\i needs the name of a file`, `write \i statements.sql`)
	}
	text, err := os.ReadFile(arg)
	if err != nil {
		return &diag.Error{Domain: diag.User, Code: diag.CodeUsage, Msg: "reading " + arg, Hint: "check its name and who may read it", Cause: err}
	}
	return c.statements(ctx, arg, string(text))
}

func (c *Console) format(_ context.Context, arg string) error {
	if err := c.Out.SetFormat(arg); err != nil {
		return err
	}
	fmt.Fprintln(c.Messages, "results come as "+arg)
	return nil
}

// toggle switches a setting, or sets it to on or off.
func toggle(what string, setting func(*Console) *bool) func(*Console, context.Context, string) error {
	return func(c *Console, _ context.Context, arg string) error {
		on := setting(c)
		switch strings.ToLower(arg) {
		case "":
			*on = !*on
		case "on":
			*on = true
		case "off":
			*on = false
		default:
			return usage("'"+arg+"' is neither on nor off", "write on or off")
		}
		word := "off"
		if *on {
			word = "on"
		}
		fmt.Fprintln(c.Messages, what+" is "+word)
		return nil
	}
}
