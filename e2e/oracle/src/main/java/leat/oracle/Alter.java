package leat.oracle;

import org.apache.paimon.schema.SchemaChange;
import org.apache.paimon.shade.jackson2.com.fasterxml.jackson.databind.JsonNode;
import org.apache.paimon.types.DataType;
import org.apache.paimon.types.DataTypeJsonParser;

import java.util.*;

/** Changes of a table's definition from JSON. */
final class Alter {
    private Alter() {}

    /** One object a change: "op", "path" (names from the column inwards), and what the change needs. */
    static List<SchemaChange> changes(JsonNode list) {
        List<SchemaChange> out = new ArrayList<>();
        for (JsonNode n : list) out.add(change(n));
        return out;
    }

    private static SchemaChange change(JsonNode n) {
        String[] path = n.has("path") ? Oracle.list(n.get("path")).toArray(new String[0]) : new String[0];
        String last = path.length == 0 ? "" : path[path.length - 1];
        switch (n.get("op").asText()) {
            case "add": return SchemaChange.addColumn(path, type(n), text(n, "comment"), move(n, last));
            case "drop": return SchemaChange.dropColumn(path);
            case "rename": return SchemaChange.renameColumn(path, text(n, "to"));
            case "move": return SchemaChange.updateColumnPosition(move(n, last));
            case "retype": return SchemaChange.updateColumnType(path, type(n), false);
            case "comment": return SchemaChange.updateColumnComment(path, text(n, "comment"));
            case "default": return SchemaChange.updateColumnDefaultValue(path, text(n, "value"));
            case "set": return SchemaChange.setOption(text(n, "key"), text(n, "value"));
            case "reset": return SchemaChange.removeOption(text(n, "key"));
            case "table-comment": return SchemaChange.updateComment(text(n, "comment"));
            default: throw new IllegalArgumentException("unknown change " + n);
        }
    }

    private static DataType type(JsonNode n) {
        return DataTypeJsonParser.parseDataType(n.get("type"));
    }

    private static String text(JsonNode n, String key) {
        return n.hasNonNull(key) ? n.get(key).asText() : null;
    }

    private static SchemaChange.Move move(JsonNode n, String column) {
        if (n.has("first")) return SchemaChange.Move.first(column);
        return n.has("after") ? SchemaChange.Move.after(column, n.get("after").asText()) : null;
    }
}
