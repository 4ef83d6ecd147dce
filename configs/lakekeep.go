package configs

import "time"

// The table options of what keeps tables in order after commits, besides the
// expiration of snapshots.
var (
	TagCreation = Enum(LakeTable, "tag.automatic-creation", "none", "When tags are made by themselves.",
		[]string{"none", "process-time", "watermark", "batch"}, RefuseWords("process-time", "watermark", "batch"))
	TagPeriod    = Enum(LakeTable, "tag.creation-period", "daily", "Period that a tag stands for.", []string{"daily", "hourly", "two-hours"})
	TagDelay     = Duration(LakeTable, "tag.creation-delay", 0, "Time after a period until its tag is made.")
	TagFormatter = Enum(LakeTable, "tag.period-formatter", "with_dashes", "Form of the names of tags.",
		[]string{"with_dashes", "without_dashes", "without_dashes_and_spaces"})
	TagMax      = Int(LakeTable, "tag.num-retained-max", 0, "Most tags kept of those made by themselves.", Optional())
	TagRetained = Duration(LakeTable, "tag.default-time-retained", 0, "Time that tags are kept.", Optional())

	// SavepointTag is what leat does anyway.
	SavepointTag = Bool(LakeTable, "sink.savepoint.auto-tag", false, "Savepoints tag the table.", NoMeaningHere("every savepoint of leat tags its tables"))

	ConsumerExpiry     = Duration(LakeTable, "consumer.expiration-time", 0, "Age from which on a consumer that reads nothing is removed.", Optional())
	PartitionExpiry    = Duration(LakeTable, "partition.expiration-time", 0, "Age from which on partitions are dropped.", Optional())
	PartitionCheck     = Duration(LakeTable, "partition.expiration-check-interval", time.Hour, "Time between two looks for old partitions.")
	PartitionStrategy  = Enum(LakeTable, "partition.expiration-strategy", "values-time", "What tells the age of a partition.", []string{"values-time", "update-time"})
	PartitionPattern   = String(LakeTable, "partition.timestamp-pattern", "", "How a time is put together from partition columns, such as '$dt $hour:00:00'.", Optional())
	PartitionFormatter = String(LakeTable, "partition.timestamp-formatter", "", "Form of the time of a partition, such as 'yyyyMMdd'.", Optional())
)
