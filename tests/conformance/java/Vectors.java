// Asks the real Apache classes: reads cases as JSON lines from standard input and writes each with
// its answer. Run as a single source file, with the jars of a Connect worker on the class path;
// tests/conformance/vectors does it.
//
// Kinds of cases: "transform" (class, config, record), "predicate" (the same), "write" and "read"
// (a converter: class, config, isKey, topic, and schema with value, or bytes), "header.write" and
// "header.read" (a header converter), "validate" (a transform or predicate: class, config),
// "date.read" (pattern, text, centuryStart), and "pattern.matches" and "pattern.groups" (pattern,
// texts, replacement). Schemas and values carry their types; see schema() and value().

import com.fasterxml.jackson.core.json.JsonWriteFeature;
import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import com.fasterxml.jackson.databind.json.JsonMapper;
import com.fasterxml.jackson.databind.node.ArrayNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.io.PrintStream;
import java.math.BigDecimal;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.text.SimpleDateFormat;
import java.util.ArrayList;
import java.util.Base64;
import java.util.Date;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.TimeZone;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import java.util.regex.PatternSyntaxException;
import org.apache.kafka.common.config.ConfigDef;
import org.apache.kafka.common.config.ConfigValue;
import org.apache.kafka.connect.data.Field;
import org.apache.kafka.connect.data.Schema;
import org.apache.kafka.connect.data.SchemaAndValue;
import org.apache.kafka.connect.data.SchemaBuilder;
import org.apache.kafka.connect.data.Struct;
import org.apache.kafka.connect.header.ConnectHeaders;
import org.apache.kafka.connect.header.Header;
import org.apache.kafka.connect.source.SourceRecord;
import org.apache.kafka.connect.storage.Converter;
import org.apache.kafka.connect.storage.HeaderConverter;
import org.apache.kafka.connect.transforms.Transformation;
import org.apache.kafka.connect.transforms.predicates.Predicate;

public class Vectors {
    // Escapes keep lone surrogates whole, which no encoding has.
    static final ObjectMapper JSON =
        JsonMapper.builder().enable(JsonWriteFeature.ESCAPE_NON_ASCII).build();

    public static void main(String[] arguments) throws Exception {
        BufferedReader in = new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8));
        PrintStream out = new PrintStream(System.out, false, StandardCharsets.UTF_8);
        for (String line = in.readLine(); line != null; line = in.readLine()) {
            ObjectNode asked = (ObjectNode) JSON.readTree(line);
            ObjectNode answer;
            try {
                answer = answer(asked);
            } catch (Throwable error) {
                answer = JSON.createObjectNode();
                answer.put("error", error.getClass().getName());
                answer.put("message", firstLine(error.getMessage()));
            }
            asked.set("answer", answer);
            out.println(JSON.writeValueAsString(asked));
        }
        out.flush();
    }

    static String firstLine(String text) {
        return text == null ? null : text.split("\n", 2)[0];
    }

    static ObjectNode answer(ObjectNode asked) throws Exception {
        String kind = asked.get("kind").asText();
        if (kind.startsWith("pattern.")) {
            return pattern(asked);
        }
        Object plugin = Class.forName(asked.get("class").asText()).getDeclaredConstructor().newInstance();
        Map<String, String> config = new LinkedHashMap<>();
        asked.get("config").properties().forEach(entry -> config.put(entry.getKey(), entry.getValue().asText()));
        ObjectNode answer = JSON.createObjectNode();
        switch (kind) {
            case "transform" -> {
                @SuppressWarnings("unchecked")
                Transformation<SourceRecord> transform = (Transformation<SourceRecord>) plugin;
                transform.configure(config);
                answer.set("record", written(transform.apply(record(asked.get("record")))));
            }
            case "predicate" -> {
                @SuppressWarnings("unchecked")
                Predicate<SourceRecord> predicate = (Predicate<SourceRecord>) plugin;
                predicate.configure(config);
                answer.put("holds", predicate.test(record(asked.get("record"))));
            }
            case "write" -> {
                Converter converter = (Converter) plugin;
                converter.configure(config, asked.get("isKey").asBoolean());
                Schema schema = schema(asked.get("schema"));
                byte[] bytes = converter.fromConnectData("t", schema, value(asked.get("value"), schema));
                answer.put("bytes", bytes == null ? null : Base64.getEncoder().encodeToString(bytes));
            }
            case "read" -> {
                Converter converter = (Converter) plugin;
                converter.configure(config, asked.get("isKey").asBoolean());
                put(answer, converter.toConnectData("t", bytes(asked.get("bytes"))));
            }
            case "header.write" -> {
                HeaderConverter converter = (HeaderConverter) plugin;
                configure(converter, config);
                Schema schema = schema(asked.get("schema"));
                byte[] bytes = converter.fromConnectHeader("t", "h", schema, value(asked.get("value"), schema));
                answer.put("bytes", bytes == null ? null : Base64.getEncoder().encodeToString(bytes));
            }
            case "header.read" -> {
                HeaderConverter converter = (HeaderConverter) plugin;
                configure(converter, config);
                put(answer, converter.toConnectHeader("t", "h", bytes(asked.get("bytes"))));
            }
            case "validate" -> {
                ConfigDef definition = plugin instanceof Transformation<?> transform
                    ? transform.config() : ((Predicate<?>) plugin).config();
                ObjectNode errors = answer.putObject("errors");
                for (ConfigValue each : definition.validate(config)) {
                    each.errorMessages().forEach(message -> errors.withArray(each.name()).add(message));
                }
            }
            case "date.read" -> {
                SimpleDateFormat format = new SimpleDateFormat(asked.get("pattern").asText(), Locale.ENGLISH);
                format.setTimeZone(TimeZone.getTimeZone("UTC"));
                format.set2DigitYearStart(new Date(asked.get("centuryStart").asLong()));
                answer.put("ms", format.parse(asked.get("text").asText()).getTime());
            }
            default -> throw new IllegalArgumentException("unknown kind " + kind);
        }
        return answer;
    }

    // -- patterns --------------------------------------------------------------------------------

    static ObjectNode pattern(ObjectNode asked) {
        ObjectNode answer = JSON.createObjectNode();
        Pattern pattern;
        try {
            pattern = Pattern.compile(asked.get("pattern").asText());
        } catch (PatternSyntaxException error) {
            answer.put("error", error.getClass().getName());
            answer.put("message", "no pattern");
            return answer;
        }
        ArrayNode answers = answer.putArray("answers");
        for (JsonNode text : asked.get("texts")) {
            Matcher matcher = pattern.matcher(text.asText());
            if (asked.get("kind").asText().equals("pattern.matches")) {
                answers.add(place(matcher, text.asText()));
            } else {
                answers.add(groups(matcher, asked.get("replacement").asText()));
            }
        }
        return answer;
    }

    static ObjectNode place(Matcher matcher, String text) {
        ObjectNode place = JSON.createObjectNode();
        place.put("whole", matcher.matches());
        if (matcher.reset().find()) {
            place.put("before", text.substring(0, matcher.start()));
            place.put("found", matcher.group());
        }
        return place;
    }

    static ObjectNode groups(Matcher matcher, String replacement) {
        ObjectNode answer = JSON.createObjectNode();
        if (matcher.matches()) {
            ArrayNode groups = answer.putArray("groups");
            for (int index = 1; index <= matcher.groupCount(); index++) {
                groups.add(matcher.group(index));
            }
        }
        try {
            answer.put("replaced", matcher.replaceFirst(replacement));
        } catch (RuntimeException error) {
            answer.put("failed", error.getMessage());
        }
        return answer;
    }

    static void configure(HeaderConverter converter, Map<String, String> config) {
        Map<String, String> all = new HashMap<>(config);
        all.put("converter.type", "header");
        converter.configure(all);
    }

    static void put(ObjectNode answer, SchemaAndValue found) {
        // Values.parseString() answers null for the text "null".
        answer.set("schema", found == null ? JSON.nullNode() : written(found.schema()));
        answer.set("value", found == null ? JSON.nullNode() : written(found.value()));
    }

    static byte[] bytes(JsonNode node) {
        return node.isNull() ? null : Base64.getDecoder().decode(node.asText());
    }

    // -- records ---------------------------------------------------------------------------------

    static SourceRecord record(JsonNode node) {
        Schema keySchema = schema(node.get("keySchema"));
        Schema valueSchema = schema(node.get("valueSchema"));
        ConnectHeaders headers = new ConnectHeaders();
        for (JsonNode header : node.withArray("headers")) {
            Schema schema = schema(header.get("schema"));
            headers.add(header.get("name").asText(), value(header.get("value"), schema), schema);
        }
        JsonNode partition = node.get("partition");
        JsonNode timestamp = node.get("timestamp");
        return new SourceRecord(
            Map.of(), Map.of(), node.get("topic").asText(),
            partition == null || partition.isNull() ? null : partition.asInt(),
            keySchema, value(node.get("key"), keySchema),
            valueSchema, value(node.get("value"), valueSchema),
            timestamp == null || timestamp.isNull() ? null : timestamp.asLong(), headers);
    }

    static JsonNode written(SourceRecord record) {
        if (record == null) {
            return JSON.nullNode();
        }
        ObjectNode node = JSON.createObjectNode();
        node.put("topic", record.topic());
        node.put("partition", record.kafkaPartition());
        node.set("keySchema", written(record.keySchema()));
        node.set("key", written(record.key()));
        node.set("valueSchema", written(record.valueSchema()));
        node.set("value", written(record.value()));
        node.put("timestamp", record.timestamp());
        ArrayNode headers = node.putArray("headers");
        for (Header header : record.headers()) {
            ObjectNode each = headers.addObject();
            each.put("name", header.key());
            each.set("schema", written(header.schema()));
            each.set("value", written(header.value()));
        }
        return node;
    }

    // -- schemas: {"type","optional","name","version","doc","parameters","default","fields","key","value"}

    static Schema schema(JsonNode node) {
        if (node == null || node.isNull()) {
            return null;
        }
        Schema.Type type = Schema.Type.valueOf(node.get("type").asText());
        SchemaBuilder builder = switch (type) {
            case ARRAY -> SchemaBuilder.array(schema(node.get("value")));
            case MAP -> SchemaBuilder.map(schema(node.get("key")), schema(node.get("value")));
            default -> new SchemaBuilder(type);
        };
        if (node.hasNonNull("name")) builder.name(node.get("name").asText());
        if (node.hasNonNull("version")) builder.version(node.get("version").asInt());
        if (node.hasNonNull("doc")) builder.doc(node.get("doc").asText());
        if (node.has("parameters")) {
            node.get("parameters").properties().forEach(entry -> builder.parameter(entry.getKey(), entry.getValue().asText()));
        }
        if (node.has("fields")) {
            for (JsonNode field : node.get("fields")) {
                builder.field(field.get("name").asText(), schema(field.get("schema")));
            }
        }
        if (node.path("optional").asBoolean()) builder.optional();
        if (node.hasNonNull("default")) builder.defaultValue(value(node.get("default"), builder));
        return builder.build();
    }

    static JsonNode written(Schema schema) {
        if (schema == null) {
            return JSON.nullNode();
        }
        ObjectNode node = JSON.createObjectNode();
        node.put("type", schema.type().name());
        if (schema.isOptional()) node.put("optional", true);
        if (schema.name() != null) node.put("name", schema.name());
        if (schema.version() != null) node.put("version", schema.version());
        if (schema.doc() != null) node.put("doc", schema.doc());
        if (schema.parameters() != null && !schema.parameters().isEmpty()) {
            ObjectNode parameters = node.putObject("parameters");
            schema.parameters().forEach(parameters::put);
        }
        if (schema.defaultValue() != null) node.set("default", written(schema.defaultValue()));
        switch (schema.type()) {
            case STRUCT -> {
                ArrayNode fields = node.putArray("fields");
                for (Field field : schema.fields()) {
                    ObjectNode each = fields.addObject();
                    each.put("name", field.name());
                    each.set("schema", written(field.schema()));
                }
            }
            case ARRAY -> node.set("value", written(schema.valueSchema()));
            case MAP -> {
                node.set("key", written(schema.keySchema()));
                node.set("value", written(schema.valueSchema()));
            }
            default -> { }
        }
        return node;
    }

    // -- values: null, or an object with one member that names the Java type --------------------

    static Object value(JsonNode node, Schema schema) {
        if (node == null || node.isNull()) {
            return null;
        }
        Map.Entry<String, JsonNode> entry = node.properties().iterator().next();
        JsonNode content = entry.getValue();
        return switch (entry.getKey()) {
            case "boolean" -> content.asBoolean();
            case "int8" -> (byte) content.asInt();
            case "int16" -> (short) content.asInt();
            case "int32" -> content.asInt();
            case "int64" -> content.asLong();
            case "float32" -> Float.parseFloat(content.asText());
            case "float64" -> Double.parseDouble(content.asText());
            case "string" -> content.asText();
            case "bytes" -> Base64.getDecoder().decode(content.asText());
            case "decimal" -> new BigDecimal(content.asText());
            case "date" -> new Date(content.asLong());
            case "list" -> {
                List<Object> list = new ArrayList<>();
                for (JsonNode each : content) list.add(value(each, schema == null ? null : schema.valueSchema()));
                yield list;
            }
            case "map" -> {
                Map<Object, Object> map = new HashMap<>();
                for (JsonNode each : content) {
                    map.put(value(each.get(0), schema == null ? null : schema.keySchema()),
                        value(each.get(1), schema == null ? null : schema.valueSchema()));
                }
                yield map;
            }
            case "struct" -> {
                Schema of = content.has("schema") ? schema(content.get("schema")) : schema;
                Struct struct = new Struct(of);
                content.get("fields").properties().forEach(each -> struct.put(each.getKey(),
                    value(each.getValue(), of.field(each.getKey()).schema())));
                yield struct;
            }
            default -> throw new IllegalArgumentException("unknown type of value " + entry.getKey());
        };
    }

    static JsonNode written(Object value) {
        if (value == null) {
            return JSON.nullNode();
        }
        ObjectNode node = JSON.createObjectNode();
        if (value instanceof Boolean each) node.put("boolean", each);
        else if (value instanceof Byte each) node.put("int8", each.intValue());
        else if (value instanceof Short each) node.put("int16", each.intValue());
        else if (value instanceof Integer each) node.put("int32", each);
        else if (value instanceof Long each) node.put("int64", each);
        else if (value instanceof Float each) node.put("float32", each.toString());
        else if (value instanceof Double each) node.put("float64", each.toString());
        else if (value instanceof String each) node.put("string", each);
        else if (value instanceof byte[] each) node.put("bytes", Base64.getEncoder().encodeToString(each));
        else if (value instanceof ByteBuffer each) {
            byte[] bytes = new byte[each.remaining()];
            each.duplicate().get(bytes);
            node.put("bytes", Base64.getEncoder().encodeToString(bytes));
        }
        else if (value instanceof BigDecimal each) node.put("decimal", each.toString());
        else if (value instanceof java.math.BigInteger each) node.put("decimal", each.toString());
        else if (value instanceof Date each) node.put("date", each.getTime());
        else if (value instanceof List<?> list) {
            ArrayNode array = node.putArray("list");
            for (Object each : list) array.add(written(each));
        }
        else if (value instanceof Map<?, ?> map) {
            ArrayNode array = node.putArray("map");
            map.forEach((key, each) -> array.addArray().add(written(key)).add(written(each)));
        }
        else if (value instanceof Struct struct) {
            ObjectNode fields = node.putObject("struct").putObject("fields");
            for (Field field : struct.schema().fields()) {
                fields.set(field.name(), written(struct.getWithoutDefault(field.name())));
            }
        }
        else throw new IllegalArgumentException("unknown class " + value.getClass());
        return node;
    }
}
