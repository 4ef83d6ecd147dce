-- Orders from MySQL into a Paimon table, partitioned by the day of creation.
-- The same script runs on Flink with Flink CDC and Paimon.
SET 'execution.runtime-mode' = 'streaming';
SET 'execution.checkpointing.mode' = 'EXACTLY_ONCE';
SET 'execution.checkpointing.interval' = '1s';            -- every checkpoint makes a snapshot visible
SET 'execution.checkpointing.timeout' = '600s';
SET 'execution.checkpointing.max-concurrent-checkpoints' = '1';
SET 'execution.checkpointing.tolerable-failed-checkpoints' = '3';
SET 'restart-strategy' = 'fixed-delay';
SET 'restart-strategy.fixed-delay.attempts' = '3';
SET 'restart-strategy.fixed-delay.delay' = '5s';
SET 'pipeline.name' = 'orders';

CREATE TEMPORARY TABLE orders_src (
    order_id BIGINT NOT NULL,
    user_id BIGINT,
    order_amount DECIMAL(18, 2),
    order_status TINYINT,
    create_time TIMESTAMP(3),
    update_time TIMESTAMP(3),
    PRIMARY KEY (order_id) NOT ENFORCED
) WITH (
    'connector' = 'mysql-cdc',
    'hostname' = '${MYSQL_HOST}',
    'port' = '${MYSQL_PORT}',
    'username' = '${MYSQL_USER}',
    'password' = '${MYSQL_PASSWORD}',
    'database-name' = '${MYSQL_DATABASE}',
    'table-name' = 'orders',
    'server-time-zone' = 'UTC'
);

CREATE CATALOG lake WITH ('type' = 'paimon', 'warehouse' = '${WAREHOUSE}');
USE CATALOG lake;
CREATE DATABASE IF NOT EXISTS shop;
USE shop;

CREATE TABLE IF NOT EXISTS dwd_order_detail (
    order_id BIGINT NOT NULL,
    user_id BIGINT,
    order_amount DECIMAL(18, 2),
    order_status TINYINT,
    create_time TIMESTAMP(3),
    update_time TIMESTAMP(3),
    dt STRING,
    PRIMARY KEY (dt, order_id) NOT ENFORCED
) PARTITIONED BY (dt)
WITH (
    'bucket' = '16',
    'bucket-key' = 'order_id',
    'file.format' = 'parquet',
    'merge-engine' = 'deduplicate',
    'changelog-producer' = 'input',
    'commit.force-create-snapshot' = 'true',
    'snapshot.num-retained.min' = '20',
    'snapshot.num-retained.max' = '200',
    'snapshot.time-retained' = '48h',
    'commit.max-retries' = '20',
    'commit.retry-interval' = '1s'
);

INSERT INTO dwd_order_detail
SELECT order_id, user_id, order_amount, order_status, create_time, update_time,
       DATE_FORMAT(create_time, 'yyyy-MM-dd') AS dt
FROM default_catalog.default_database.orders_src;
