package main

import (
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"strings"
	"text/tabwriter"

	"github.com/spf13/cobra"

	"leat/configs"
	"leat/internal/connect/builtin"
)

// optionRow is one line of `leat options`.
type optionRow struct {
	Where    string   `json:"where"`
	Key      string   `json:"key"`
	Aliases  []string `json:"aliases,omitempty"`
	Type     string   `json:"type"`
	Default  string   `json:"default"`
	Required bool     `json:"required"`
	Class    string   `json:"class"`
	Text     string   `json:"text"`
}

func (a *app) optionsCommand() *cobra.Command {
	var output string
	c := &cobra.Command{
		Use:     "options [PREFIX]",
		Short:   "List the options of SET, of catalogs, of tables and of connectors",
		Long:    "List the options that leat declares: what it honours, accepts without effect, or refuses. Other keys of Flink and Paimon are accepted with a notice.",
		Example: "  leat options execution.checkpointing\n  leat options --output json\n  leat options --output markdown > options.md",
		Args:    cobra.MaximumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			prefix := ""
			if len(args) == 1 {
				prefix = args[0]
			}
			return writeOptions(cmd.OutOrStdout(), collectOptions(prefix), output)
		},
	}
	c.Flags().StringVar(&output, "output", "table", "table, json, ndjson or markdown")
	return c
}

func collectOptions(prefix string) []optionRow {
	sets := []*configs.Set{configs.Session, configs.Catalog, configs.LakeTable}
	reg := builtin.All()
	for _, n := range reg.Names() {
		if c, ok := reg.Get(n); ok {
			sets = append(sets, c.Options())
		}
	}
	rows := []optionRow{}
	for _, s := range sets {
		from := len(rows)
		for _, d := range s.Defs() {
			if !strings.HasPrefix(d.Key, prefix) {
				continue
			}
			r := optionRow{Where: s.What, Key: d.Key, Aliases: d.Aliases, Type: d.Type, Default: d.Default, Required: d.Required, Class: d.Class.String(), Text: d.Text}
			if d.NoDefault {
				r.Default = ""
			}
			rows = append(rows, r)
		}
		slices.SortFunc(rows[from:], func(a, b optionRow) int { return strings.Compare(a.Key, b.Key) })
	}
	return rows
}

func writeOptions(w io.Writer, rows []optionRow, output string) error {
	switch output {
	case "json":
		e := json.NewEncoder(w)
		e.SetIndent("", "  ")
		if err := e.Encode(rows); err != nil {
			return fmt.Errorf("printing options: %w", err)
		}
		return nil
	case "ndjson":
		e := json.NewEncoder(w)
		for _, r := range rows {
			if err := e.Encode(r); err != nil {
				return fmt.Errorf("printing options: %w", err)
			}
		}
		return nil
	case "table":
		t := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
		last := ""
		for _, r := range rows {
			if r.Where != last {
				fmt.Fprintf(t, "\n%s\n", strings.ToUpper(r.Where[:1])+r.Where[1:])
				last = r.Where
			}
			fmt.Fprintf(t, "  %s\t%s\t%s\t%s\t%s\n", r.Key, r.Type, r.Default, r.Class, r.Text)
		}
		if err := t.Flush(); err != nil {
			return fmt.Errorf("printing options: %w", err)
		}
		return nil
	case "markdown":
		return writeOptionsPage(w, rows)
	default:
		return usageError(fmt.Sprintf("--output '%s' is not a form of output", output), "write table, json, ndjson or markdown")
	}
}

// writeOptionsPage writes a table for each place of options.
func writeOptionsPage(w io.Writer, rows []optionRow) error {
	var b strings.Builder
	b.WriteString("# Options\n\nMade by `leat options --output markdown` from what the program declares. Other keys of Flink and Paimon are known and accepted with a notice.\n")
	last := ""
	for _, r := range rows {
		if r.Where != last {
			fmt.Fprintf(&b, "\n## %s\n\n| Option | Type | Default | Class | Meaning |\n|---|---|---|---|---|\n", strings.ToUpper(r.Where[:1])+r.Where[1:])
			last = r.Where
		}
		key := "`" + strings.Join(append([]string{r.Key}, r.Aliases...), "`, older `") + "`"
		def := ""
		if r.Default != "" {
			def = "`" + r.Default + "`"
		}
		if r.Required {
			def = "required"
		}
		cells := []string{key, r.Type, def, r.Class, r.Text}
		for i := range cells {
			cells[i] = strings.ReplaceAll(cells[i], "|", "\\|")
		}
		fmt.Fprintf(&b, "| %s |\n", strings.Join(cells, " | "))
	}
	if _, err := io.WriteString(w, b.String()); err != nil {
		return fmt.Errorf("printing options: %w", err)
	}
	return nil
}

func outputError(output string) error {
	return usageError(fmt.Sprintf("--output '%s' is not a form of output", output), "write table, json or ndjson")
}
