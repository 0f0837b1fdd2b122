// Prints the names of time zones that SimpleDateFormat reads in English, in the order in which it
// looks for them, with what each stands for. Run as a single source file;
// tests/conformance/vectors/zone_names does it.
//
// A line is a zone, with tabs between: its id; what daylight time adds, in seconds; its names, each
// behind a letter ("s" standard time, "d" daylight time, "o" whichever the zone has at that moment)
// and with ";" between; and its offsets, each "from:standard+daylight", with "," between. "from" is a
// wall time in seconds since 1970, and the first offset has none: it is that of all times before.

import java.io.PrintStream;
import java.nio.charset.StandardCharsets;
import java.text.DateFormatSymbols;
import java.time.Instant;
import java.time.LocalDateTime;
import java.time.ZoneId;
import java.time.ZoneOffset;
import java.time.zone.ZoneRules;
import java.util.ArrayList;
import java.util.Calendar;
import java.util.GregorianCalendar;
import java.util.HashSet;
import java.util.List;
import java.util.Locale;
import java.util.Set;
import java.util.TimeZone;
import java.util.TreeSet;

public class ZoneNames {
    static final long DAY_S = 86_400;
    static final long EARLIEST_S = -5_000_000_000L;
    static final long LATEST_S = 2_500_000_000L;

    public static void main(String[] arguments) {
        PrintStream out = new PrintStream(System.out, false, StandardCharsets.UTF_8);
        out.println("# Java " + Runtime.version() + ", names in English");
        Set<String> seen = new HashSet<>();
        for (String[] row : DateFormatSymbols.getInstance(Locale.ENGLISH).getZoneStrings()) {
            TimeZone zone = TimeZone.getTimeZone(row[0]);
            List<String> names = new ArrayList<>();
            for (int index = 1; index <= 4; index++) {
                boolean isNamed = row[index] != null && !row[index].isEmpty();
                if (isNamed && seen.add(row[index].toLowerCase(Locale.ROOT))) {
                    names.add(kind(row, index, zone) + row[index]);
                }
            }
            if (!names.isEmpty()) {
                boolean isWhole = names.stream().anyMatch(name -> name.startsWith("o"));
                out.println(String.join("\t", row[0], "" + zone.getDSTSavings() / 1000,
                    String.join(";", names), offsets(zone, isWhole)));
            }
        }
        out.flush();
    }

    static String kind(String[] row, int index, TimeZone zone) {
        if (index <= 2) {
            return row[index].equalsIgnoreCase(row[index + 2]) ? "o" : "s";
        }
        return zone.getDSTSavings() == 0 ? "o" : "d";
    }

    static String offsets(TimeZone zone, boolean isWhole) {
        TreeSet<Long> near = new TreeSet<>(List.of(Instant.parse("1900-01-01T00:00:00Z").getEpochSecond()));
        ZoneRules rules = ZoneId.of(zone.getID(), ZoneId.SHORT_IDS).getRules();
        rules.getTransitions().forEach(each -> near.add(each.getInstant().getEpochSecond()));
        for (long at = EARLIEST_S; at < LATEST_S; at += DAY_S) { // a new standard time may be no transition
            Instant before = Instant.ofEpochSecond(at);
            if (!rules.getStandardOffset(before).equals(rules.getStandardOffset(before.plusSeconds(DAY_S)))) {
                near.add(at);
            }
        }
        String last = offset(zone, EARLIEST_S, isWhole);
        List<String> found = new ArrayList<>(List.of(last));
        long done = EARLIEST_S;
        for (long centre : near) {
            for (long at = Math.max(done, centre - 3 * DAY_S); at < centre + 3 * DAY_S; at += 3_600) {
                String next = offset(zone, at + 3_600, isWhole);
                done = at + 3_600;
                if (next.equals(last)) {
                    continue;
                }
                long before = at;
                long after = at + 3_600;
                while (after - before > 1) {
                    long middle = (before + after) / 2;
                    if (offset(zone, middle, isWhole).equals(last)) before = middle; else after = middle;
                }
                found.add(after + ":" + next);
                last = next;
            }
        }
        return String.join(",", found);
    }

    static String offset(TimeZone zone, long wallS, boolean isWhole) {
        long standard = wallS - moment(zone, wallS, true);
        long whole = isWhole ? wallS - moment(zone, wallS, false) : standard;
        return standard + "+" + (whole - standard);
    }

    static long moment(TimeZone zone, long wallS, boolean isStandard) {
        LocalDateTime wall = LocalDateTime.ofEpochSecond(wallS, 0, ZoneOffset.UTC);
        Calendar calendar = new GregorianCalendar(zone, Locale.ENGLISH);
        calendar.clear();
        calendar.set(wall.getYear(), wall.getMonthValue() - 1, wall.getDayOfMonth(),
            wall.getHour(), wall.getMinute(), wall.getSecond());
        if (isStandard) {
            calendar.set(Calendar.DST_OFFSET, 0);
        }
        return Math.floorDiv(calendar.getTimeInMillis(), 1000);
    }
}
