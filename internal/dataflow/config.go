package dataflow

import (
	"log/slog"
	"time"
)

// Config holds the checkpoint settings of a job; see the Flink keys
// execution.checkpointing.*.
type Config struct {
	// Interval is the time from trigger to trigger; 0 takes no periodic checkpoints.
	Interval time.Duration
	// InitialDelay is the time to the first trigger; 0 means the interval, at most
	// 250 ms, so that a new job shows its first rows soon.
	InitialDelay time.Duration
	// MinPause is the least time from the end of a checkpoint (committed or failed) to the next trigger.
	MinPause time.Duration
	// Timeout counts from the moment all sources have injected the barrier; 0 means 10 minutes.
	Timeout time.Duration
	// TolerableFailures is the number of checkpoints in a row that may fail.
	TolerableFailures int
	// ChannelBytes bounds each channel; 0 means 4 MiB. One batch larger than that passes alone.
	ChannelBytes int64
	// RetryBackoff is the first pause before a failed commit or log write is tried
	// again, doubling up to MaxRetryBackoff; 0 means 100 ms and 10 s.
	RetryBackoff, MaxRetryBackoff time.Duration
	// Log receives what Listener does not tell; nil discards.
	Log *slog.Logger
}

func (c Config) withDefaults() Config {
	if c.InitialDelay <= 0 {
		c.InitialDelay = min(c.Interval, 250*time.Millisecond)
	}
	if c.Timeout <= 0 {
		c.Timeout = 10 * time.Minute
	}
	if c.ChannelBytes <= 0 {
		c.ChannelBytes = 4 << 20
	}
	if c.RetryBackoff <= 0 {
		c.RetryBackoff = 100 * time.Millisecond
	}
	if c.MaxRetryBackoff <= 0 {
		c.MaxRetryBackoff = 10 * time.Second
	}
	if c.Log == nil {
		c.Log = slog.New(slog.DiscardHandler)
	}
	return c
}
