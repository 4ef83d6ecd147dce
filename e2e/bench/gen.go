package bench

import (
	"strconv"
	"time"
)

// tableDDL is the source table of orders.
const tableDDL = `CREATE TABLE %s (
  order_id     BIGINT        NOT NULL PRIMARY KEY,
  user_id      BIGINT        NULL,
  order_amount DECIMAL(18,2) NULL,
  order_status TINYINT       NULL,
  create_time  DATETIME(3)   NULL,
  update_time  DATETIME(3)   NULL,
  dt           VARCHAR(10)   NOT NULL
) ENGINE=InnoDB`

// ordersPerDay is how many orders share one dt, the lake table's partition.
const ordersPerDay = 1_000_000

var firstOrder = time.Date(2026, 7, 1, 0, 0, 0, 0, time.UTC)

// order is one row.
type order struct {
	id, user, cents int64
	status          int8
	create, update  time.Time
	dt              string
}

// mix is splitmix64: a cheap, well-spread hash.
func mix(x uint64) uint64 {
	x += 0x9e3779b97f4a7c15
	x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9
	x = (x ^ (x >> 27)) * 0x94d049bb133111eb
	return x ^ (x >> 31)
}

// makeOrder gives version ver (number of updates so far) of order id.
func makeOrder(id int64, ver int) order {
	h := mix(uint64(id))
	g := mix(h ^ uint64(ver))
	c := firstOrder.Add(time.Duration(id) * (24 * time.Hour / ordersPerDay)).Truncate(time.Millisecond)
	o := order{
		id: id, user: int64(h % 1_000_000), cents: int64(g%5_000_000) + 100, status: int8(ver % 6),
		create: c, update: c, dt: c.Format("2006-01-02"),
	}
	if ver > 0 {
		o.update = c.Add(time.Duration(ver)*time.Minute + time.Duration(g%1000)*time.Millisecond)
	}
	return o
}

const stampForm = "2006-01-02 15:04:05.000"

// appendTo writes the fields with sep between them; quote stands around text
// ("" for LOAD DATA, "'" for SQL).
func (o order) appendTo(b []byte, sep byte, quote string) []byte {
	b = strconv.AppendInt(b, o.id, 10)
	b = append(b, sep)
	b = strconv.AppendInt(b, o.user, 10)
	b = append(b, sep)
	b = strconv.AppendInt(b, o.cents/100, 10)
	b = append(b, '.', byte('0'+o.cents%100/10), byte('0'+o.cents%10), sep)
	b = strconv.AppendInt(b, int64(o.status), 10)
	for _, t := range []time.Time{o.create, o.update} {
		b = append(b, sep)
		b = append(b, quote...)
		b = t.AppendFormat(b, stampForm)
		b = append(b, quote...)
	}
	b = append(b, sep)
	b = append(b, quote...)
	b = append(b, o.dt...)
	return append(b, quote...)
}
