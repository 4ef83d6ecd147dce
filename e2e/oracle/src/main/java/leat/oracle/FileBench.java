package leat.oracle;

import com.sun.management.OperatingSystemMXBean;
import org.apache.paimon.CoreOptions;
import org.apache.paimon.data.BinaryRow;
import org.apache.paimon.data.InternalRow;
import org.apache.paimon.data.serializer.InternalRowSerializer;
import org.apache.paimon.format.FileFormat;
import org.apache.paimon.format.FormatReaderContext;
import org.apache.paimon.format.FormatWriter;
import org.apache.paimon.fs.FileIO;
import org.apache.paimon.fs.Path;
import org.apache.paimon.fs.PositionOutputStream;
import org.apache.paimon.fs.local.LocalFileIO;
import org.apache.paimon.reader.FileRecordReader;
import org.apache.paimon.reader.RecordReader.RecordIterator;
import org.apache.paimon.shade.jackson2.com.fasterxml.jackson.databind.ObjectMapper;
import org.apache.paimon.types.DataField;
import org.apache.paimon.types.DataTypeJsonParser;
import org.apache.paimon.types.RowType;

import java.io.*;
import java.lang.management.ManagementFactory;
import java.util.*;

/**
 * Reads and writes data files in one warm JVM: a line of standard input is a task, "ok ROWS WALL_NS CPU_NS" its answer.
 *
 * <p>read FORMAT FILE: all columns, batch by batch, no row looked at; load FORMAT FILE: keeps the rows, as Paimon's
 * writer wants them; write FORMAT FILE: writes those. The argument of the program is a file with the fields as JSON.
 */
public final class FileBench {
    static final OperatingSystemMXBean OS = (OperatingSystemMXBean) ManagementFactory.getOperatingSystemMXBean();
    static final FileIO IO = LocalFileIO.create();

    final RowType type;
    final Map<String, String> options = new HashMap<>();
    final List<BinaryRow> rows = new ArrayList<>();

    FileBench(String fieldsFile) throws IOException {
        List<DataField> fields = new ArrayList<>();
        new ObjectMapper().readTree(new File(fieldsFile)).forEach(f -> fields.add(DataTypeJsonParser.parseDataField(f)));
        type = new RowType(false, fields);
    }

    public static void main(String[] args) throws Exception {
        FileBench b = new FileBench(args[0]);
        BufferedReader in = new BufferedReader(new InputStreamReader(System.in));
        for (String line; (line = in.readLine()) != null; ) {
            String[] t = line.split(" ");
            long wall = System.nanoTime(), cpu = OS.getProcessCpuTime();
            try {
                long n = b.run(t);
                wall = System.nanoTime() - wall;
                System.out.println("ok " + n + " " + wall + " " + (OS.getProcessCpuTime() - cpu));
            } catch (Exception e) {
                System.out.println("error " + e);
            }
            if (!t[0].equals("read")) System.gc();
        }
    }

    long run(String[] t) throws IOException {
        switch (t[0]) {
            case "read": return read(t[1], t[2], null);
            case "load":
                rows.clear();
                return read(t[1], t[2], new InternalRowSerializer(type));
            case "write": return write(t[1], t[2]);
            default: throw new IllegalArgumentException(t[0]);
        }
    }

    FileFormat format(String name) {
        options.put("file.format", name);
        return FileFormat.fileFormat(new CoreOptions(options));
    }

    long read(String format, String file, InternalRowSerializer keep) throws IOException {
        long n = 0;
        Path path = new Path(file);
        try (FileRecordReader<InternalRow> r = format(format).createReaderFactory(type, type, null)
                .createReader(new FormatReaderContext(IO, path, new File(file).length()))) {
            for (RecordIterator<InternalRow> it; (it = r.readBatch()) != null; it.releaseBatch()) {
                if (keep != null) {
                    for (InternalRow row; (row = it.next()) != null; n++) rows.add(keep.toBinaryRow(row).copy());
                } else {
                    n += rowsOf(it);
                }
            }
        }
        return n;
    }

    /** The rows of a batch, without a look at more than the last. */
    static long rowsOf(RecordIterator<InternalRow> it) throws IOException {
        long n = 0;
        while (it.next() != null) n++;
        return n;
    }

    long write(String format, String file) throws IOException {
        try (PositionOutputStream out = IO.newOutputStream(new Path(file), true);
                FormatWriter w = format(format).createWriterFactory(type).create(out, "zstd")) {
            for (BinaryRow row : rows) w.addElement(row);
        }
        return rows.size();
    }
}
