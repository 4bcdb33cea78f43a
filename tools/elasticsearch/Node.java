import java.nio.file.Path;
import java.util.HashMap;
import java.util.Map;
import org.elasticsearch.common.logging.LogConfigurator;
import org.elasticsearch.common.settings.Settings;
import org.elasticsearch.env.Environment;
import org.elasticsearch.node.InternalSettingsPreparer;

/**
 * Starts one Elasticsearch node inside this process: {@code java … Node HOME key=value…}.
 *
 * <p>It runs until it is told to end (SIGTERM, SIGINT) or its standard input is closed, which happens when the
 * process that started it dies: no node is ever left behind.
 */
public final class Node {
    public static void main(String[] args) throws Exception {
        Path config = Path.of(args[0], "config");
        System.setProperty("es.path.home", args[0]);
        System.setProperty("es.path.conf", config.toString());
        Map<String, String> settings = new HashMap<>(Map.of("path.home", args[0]));
        for (int i = 1; i < args.length; i++) {
            int equals = args[i].indexOf('=');
            settings.put(args[i].substring(0, equals), args[i].substring(equals + 1));
        }

        LogConfigurator.configureESLogging(); // has to come before anything that makes a logger
        Environment environment =
                InternalSettingsPreparer.prepareEnvironment(Settings.EMPTY, settings, config, () -> "ragviz");
        LogConfigurator.configure(environment, true);
        var node = new org.elasticsearch.node.Node(environment);
        Runtime.getRuntime().addShutdownHook(new Thread(() -> close(node)));
        node.start();

        while (System.in.read() >= 0) {
            // wait for the end of the input
        }
        System.exit(0);
    }

    private static void close(org.elasticsearch.node.Node node) {
        try {
            node.close();
        } catch (Exception error) {
            System.err.println("The node did not close cleanly: " + error);
        }
    }
}
