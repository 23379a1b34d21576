import java.io.FileInputStream;
import java.util.Properties;
import java.util.TreeSet;

/** Prints what java.util.Properties reads from each file; one line a file, and one a property in hexadecimal UTF-16. */
class Settings {
    public static void main(String[] paths) throws Exception {
        for (String path : paths) {
            Properties properties = new Properties();
            try (FileInputStream file = new FileInputStream(path)) {
                properties.load(file);
                System.out.println("file");
                for (String name : new TreeSet<>(properties.stringPropertyNames())) {
                    System.out.println(hex(name) + "=" + hex(properties.getProperty(name)));
                }
            } catch (IllegalArgumentException error) {
                System.out.println("error " + hex(String.valueOf(error.getMessage())));
            }
        }
    }

    private static String hex(String text) {
        StringBuilder units = new StringBuilder();
        text.chars().forEach(unit -> units.append(String.format("%04x", unit)));
        return units.toString();
    }
}
