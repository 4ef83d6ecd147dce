package main

import (
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
	"github.com/spf13/viper"

	"leat/configs"
	"leat/internal/diag"
	"leat/internal/job"
	"leat/sqlfront"
)

// settings are the values of flags, LEAT_* variables and leat.yaml, in this order.
type settings struct{ v *viper.Viper }

func newSettings() *settings { return &settings{v: viper.New()} }

func (s *settings) register(f *pflag.FlagSet) {
	f.String("state-dir", "", "folder of jobs and checkpoints (default $XDG_STATE_HOME/leat)")
	f.String("config", "", "settings file (default ./leat.yaml, then $XDG_CONFIG_HOME/leat/leat.yaml)")
	f.String("log-level", "warn", "debug, info, warn or error")
}

// load reads leat.yaml and binds flags and environment.
func (s *settings) load(cmd *cobra.Command) error {
	s.v.SetEnvPrefix("LEAT")
	s.v.SetEnvKeyReplacer(strings.NewReplacer("-", "_"))
	s.v.AutomaticEnv()
	for _, name := range []string{"config", "state-dir", "warehouse", "log-level"} {
		if f := cmd.Flags().Lookup(name); f != nil {
			if err := s.v.BindPFlag(name, f); err != nil {
				return fmt.Errorf("binding flags: %w", err)
			}
		}
	}
	file := s.v.GetString("config")
	if file == "" {
		file = defaultSettings()
	}
	if file == "" {
		return nil
	}
	s.v.SetConfigType("yaml")
	s.v.SetConfigFile(file)
	if err := s.v.ReadInConfig(); err != nil {
		return &diag.Error{Domain: diag.User, Code: diag.CodeSettings, Msg: "reading the settings file " + file, Hint: "make it YAML with the keys state-dir, warehouse, log-level and set", Cause: err}
	}
	return s.checkFile()
}

// defaultSettings gives the settings file that is used without --config, "" if
// there is none. Files of other endings are not ours: the program itself is called
// leat.
func defaultSettings() string {
	places := []string{"leat.yaml"}
	if dir, err := os.UserConfigDir(); err == nil {
		places = append(places, filepath.Join(dir, "leat", "leat.yaml"))
	}
	for _, p := range places {
		if _, err := os.Stat(p); !errors.Is(err, os.ErrNotExist) {
			return p
		}
	}
	return ""
}

var fileKeys = []string{"state-dir", "warehouse", "log-level", "set"}

func (s *settings) checkFile() error {
	var errs diag.List
	for _, k := range s.v.AllKeys() {
		if s.v.InConfig(k) && !slices.Contains(fileKeys, k) {
			e := &diag.Error{Domain: diag.User, Code: diag.CodeSettings, Msg: fmt.Sprintf("%s: there is no setting '%s'", s.v.ConfigFileUsed(), k), Hint: "keys are " + strings.Join(fileKeys, ", ")}
			if n := configs.Nearest(k, fileKeys); n != "" {
				e.Hint = fmt.Sprintf("did you mean '%s'?", n)
			}
			errs = append(errs, e)
		}
	}
	return errs.Err()
}

func (s *settings) stateDir() string {
	if d := s.v.GetString("state-dir"); d != "" {
		return d
	}
	return job.DefaultStateDir()
}

func (s *settings) logger() (*slog.Logger, error) {
	var level slog.Level
	text := s.v.GetString("log-level")
	if err := level.UnmarshalText([]byte(text)); err != nil {
		return nil, usageError(fmt.Sprintf("log-level: '%s' is not a level", text), "write debug, info, warn or error")
	}
	return slog.New(slog.NewTextHandler(os.Stderr, &slog.HandlerOptions{Level: level})), nil
}

// session gives the SET values of leat.yaml (a list of SET statements), then of --set and --name.
func (s *settings) session(cmd *cobra.Command) (configs.Values, error) {
	v := configs.Values{}
	file := s.v.ConfigFileUsed()
	statements := s.v.GetStringSlice("set")
	if text, ok := s.v.Get("set").(string); ok {
		statements = []string{text} // from LEAT_SET, or a single one
	}
	for _, text := range statements {
		if err := setStatement(v, file, text); err != nil {
			return nil, err
		}
	}
	pairs, err := cmd.Flags().GetStringArray("set")
	if err != nil {
		return nil, fmt.Errorf("reading --set: %w", err)
	}
	for _, p := range pairs {
		k, val, ok := strings.Cut(p, "=")
		if !ok {
			return nil, usageError(fmt.Sprintf("--set '%s' has no '='", p), "write --set key=value")
		}
		v[strings.TrimSpace(k)] = configs.Value{Text: strings.TrimSpace(val)}
	}
	if name, err := cmd.Flags().GetString("name"); err == nil && name != "" {
		v[configs.PipelineName.Key] = configs.Value{Text: name}
	}
	return v, nil
}

func setStatement(v configs.Values, file, text string) error {
	script, err := sqlfront.Parse(file, text, os.LookupEnv)
	if err != nil {
		return err
	}
	for _, st := range script.Statements {
		set, ok := st.(*sqlfront.Set)
		if !ok {
			return &diag.Error{Domain: diag.User, Code: diag.CodeSettings, Msg: fmt.Sprintf("%s: set: '%s' is not a SET statement", file, text), Hint: "write SET 'key' = 'value'"}
		}
		v[set.Key] = configs.Value{Text: set.Value}
	}
	return nil
}
