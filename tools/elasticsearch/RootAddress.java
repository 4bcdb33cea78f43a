import static org.elasticsearch.rest.RestRequest.Method.GET;
import static org.elasticsearch.rest.RestRequest.Method.HEAD;

import java.util.Collection;
import java.util.List;
import java.util.function.Predicate;
import java.util.function.Supplier;
import org.elasticsearch.Build;
import org.elasticsearch.client.internal.node.NodeClient;
import org.elasticsearch.cluster.metadata.IndexNameExpressionResolver;
import org.elasticsearch.cluster.node.DiscoveryNodes;
import org.elasticsearch.common.io.stream.NamedWriteableRegistry;
import org.elasticsearch.common.settings.ClusterSettings;
import org.elasticsearch.common.settings.IndexScopedSettings;
import org.elasticsearch.common.settings.Settings;
import org.elasticsearch.common.settings.SettingsFilter;
import org.elasticsearch.features.NodeFeature;
import org.elasticsearch.plugins.ActionPlugin;
import org.elasticsearch.plugins.Plugin;
import org.elasticsearch.rest.BaseRestHandler;
import org.elasticsearch.rest.RestController;
import org.elasticsearch.rest.RestHandler;
import org.elasticsearch.rest.RestRequest;
import org.elasticsearch.rest.RestResponse;
import org.elasticsearch.rest.RestStatus;
import org.elasticsearch.xcontent.XContentBuilder;

/** Answers {@code GET /} and {@code HEAD /} as the full distribution does; its own module for that is not published. */
public final class RootAddress extends Plugin implements ActionPlugin {
    @Override
    public Collection<RestHandler> getRestHandlers(
            Settings settings,
            NamedWriteableRegistry writeables,
            RestController controller,
            ClusterSettings clusterSettings,
            IndexScopedSettings indexSettings,
            SettingsFilter filter,
            IndexNameExpressionResolver names,
            Supplier<DiscoveryNodes> nodes,
            Predicate<NodeFeature> features) {
        return List.of(new Handler(settings));
    }

    private static final class Handler extends BaseRestHandler {
        private final Settings settings;

        Handler(Settings settings) {
            this.settings = settings;
        }

        @Override
        public String getName() {
            return "root_address";
        }

        @Override
        public List<Route> routes() {
            return List.of(new Route(GET, "/"), new Route(HEAD, "/"));
        }

        @Override
        protected RestChannelConsumer prepareRequest(RestRequest request, NodeClient client) {
            return channel -> channel.sendResponse(new RestResponse(RestStatus.OK, body(channel.newBuilder())));
        }

        private XContentBuilder body(XContentBuilder builder) throws java.io.IOException {
            Build build = Build.current();
            builder.prettyPrint().startObject();
            builder.field("name", settings.get("node.name"));
            builder.field("cluster_name", settings.get("cluster.name"));
            builder.startObject("version");
            builder.field("number", build.qualifiedVersion());
            builder.field("build_flavor", build.flavor());
            builder.field("build_type", build.type().displayName());
            builder.field("build_hash", build.hash());
            builder.field("build_date", build.date());
            builder.field("build_snapshot", build.isSnapshot());
            builder.field("lucene_version", org.apache.lucene.util.Version.LATEST.toString());
            builder.field("minimum_wire_compatibility_version", build.minWireCompatVersion());
            builder.field("minimum_index_compatibility_version", build.minIndexCompatVersion());
            builder.endObject();
            return builder.field("tagline", "You Know, for Search").endObject();
        }
    }
}
