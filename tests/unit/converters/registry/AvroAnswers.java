// Asks an open implementation of Connect's Avro mapping (io.apicurio:apicurio-registry-utils-converter)
// for the Avro schemas and data of the cases in cases.py: lines of name, settings and JSON with
// schema on stdin, lines of name, Avro schema and data in hex, or an error, on stdout.
// How it is run stands in test_avro_as_java.py.

import io.apicurio.registry.utils.converter.avro.AvroData;
import io.apicurio.registry.utils.converter.avro.AvroDataConfig;
import java.io.BufferedReader;
import java.io.ByteArrayOutputStream;
import java.io.InputStreamReader;
import java.nio.charset.StandardCharsets;
import java.util.HashMap;
import java.util.HexFormat;
import java.util.Map;
import org.apache.avro.generic.GenericDatumWriter;
import org.apache.avro.io.BinaryEncoder;
import org.apache.avro.io.EncoderFactory;
import org.apache.kafka.connect.data.SchemaAndValue;
import org.apache.kafka.connect.json.JsonConverter;

public class AvroAnswers {
    public static void main(String[] args) throws Exception {
        JsonConverter json = new JsonConverter();
        json.configure(Map.of("schemas.enable", "true", "replace.null.with.default", "false"), false);
        BufferedReader in =
            new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8));
        for (String line = in.readLine(); line != null; line = in.readLine()) {
            String[] parts = line.split("\t");
            System.out.println(parts[0] + "\t" + answer(json, parts));
        }
    }

    static String answer(JsonConverter json, String[] parts) {
        Map<String, String> settings = new HashMap<>();
        for (String setting : parts[1].split(",")) {
            if (setting.contains("=")) {
                settings.put(setting.split("=")[0], setting.split("=")[1]);
            }
        }
        try {
            SchemaAndValue read =
                json.toConnectData("t", parts[2].getBytes(StandardCharsets.UTF_8));
            AvroData data = new AvroData(new AvroDataConfig(settings));
            org.apache.avro.Schema schema = data.fromConnectSchema(read.schema());
            Object datum = data.fromConnectData(read.schema(), read.value());
            if (datum instanceof io.apicurio.registry.serde.avro.NonRecordContainer) {
                datum = ((io.apicurio.registry.serde.avro.NonRecordContainer) datum).getValue();
            }
            ByteArrayOutputStream out = new ByteArrayOutputStream();
            BinaryEncoder encoder = EncoderFactory.get().directBinaryEncoder(out, null);
            new GenericDatumWriter<Object>(schema).write(datum, encoder);
            encoder.flush();
            return schema + "\t" + HexFormat.of().formatHex(out.toByteArray());
        } catch (Exception error) {
            return error.getClass().getName() + "\t" + String.valueOf(error.getMessage()).lines().findFirst().orElse("");
        }
    }
}
