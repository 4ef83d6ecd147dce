DROP DATABASE IF EXISTS app;
CREATE DATABASE app;
USE app;
CREATE TABLE t (id INT PRIMARY KEY, s SET('x','y','z'));
INSERT INTO t VALUES (1, 'x,z');
-- @job-started
USE app;
ALTER TABLE t MODIFY s SET('z','n','y','x');
INSERT INTO t VALUES (2, 'n,x');
SET SESSION sql_mode = '';
ALTER TABLE t MODIFY s SET('x','n');
INSERT INTO t VALUES (3, 'n');
