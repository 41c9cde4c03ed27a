// swift-tools-version: 6.2.3
import PackageDescription

let settings: [SwiftSetting] =
    [
        .enableUpcomingFeature("ExistentialAny"),
        .enableUpcomingFeature("InternalImportsByDefault"),
        .enableUpcomingFeature("MemberImportVisibility"),
        .enableUpcomingFeature("NonisolatedNonsendingByDefault"),
    ] + (Context.environment["NETKIT_STRICT"] == nil ? [] : [.treatAllWarnings(as: .error)])

// Tests of the packages against real and hostile servers. Nothing here is part of a product.
let package = Package(
    name: "IntegrationTests",
    dependencies: [
        .package(path: "../../Packages/CFNetwork"),
        .package(path: "../../Packages/EventLoops"),
        .package(path: "../../Packages/FTPStream"),
        .package(path: "../../Packages/HTTP2"),
        .package(path: "../../Packages/HTTPAuth"),
        .package(path: "../../Packages/HTTPMessage"),
        .package(path: "../../Packages/HTTPStream"),
        .package(path: "../../Packages/HostResolver"),
        .package(path: "../../Packages/NetKit"),
        .package(path: "../../Packages/ServiceDiscovery"),
        .package(path: "../../Packages/StreamKit"),
        .package(path: "../../Packages/WebSocketStream"),
        .package(path: "../Peers"),
    ],
    targets: [
        .executableTarget(
            name: "discovery-probe",
            dependencies: [.product(name: "ServiceDiscovery", package: "ServiceDiscovery")],
            swiftSettings: settings
        ),
        .executableTarget(
            name: "service-streams",
            dependencies: [.product(name: "NetKitFoundation", package: "NetKit")],
            swiftSettings: settings
        ),
        .executableTarget(
            name: "net-service",
            dependencies: [.product(name: "NetKitFoundation", package: "NetKit")],
            swiftSettings: settings
        ),
        .executableTarget(
            name: "cfnetservices",
            dependencies: [.product(name: "CFNetwork", package: "CFNetwork")]
        ),
        .executableTarget(
            name: "watch-network",
            dependencies: [.product(name: "HostResolver", package: "HostResolver")],
            swiftSettings: settings
        ),
        .executableTarget(
            name: "resolve-probe",
            dependencies: [
                .product(name: "HostResolver", package: "HostResolver"),
                .product(name: "StreamKit", package: "StreamKit"),
            ],
            swiftSettings: settings
        ),
        .executableTarget(
            name: "stream-probe",
            dependencies: [.product(name: "NetKit", package: "NetKit")],
            swiftSettings: settings
        ),
        .executableTarget(
            name: "diagnose-here",
            dependencies: [.product(name: "NetKit", package: "NetKit")],
            swiftSettings: settings
        ),
        // Returns messages to the Autobahn test suite: Scripts/autobahn
        .executableTarget(
            name: "autobahn-agent",
            dependencies: [.product(name: "WebSocketStream", package: "WebSocketStream")],
            swiftSettings: settings
        ),
        // The fault lab: a library, so that the tests and Scripts/faultlab use the same table.
        .target(
            name: "FaultLab",
            dependencies: [.product(name: "Peers", package: "Peers")],
            exclude: ["world.py"],
            swiftSettings: settings
        ),
        .executableTarget(
            name: "fault-lab",
            dependencies: [
                "FaultLab", "diagnose-here",
                .product(name: "EventLoops", package: "EventLoops"),
                .product(name: "NetKit", package: "NetKit"),
                .product(name: "Peers", package: "Peers"),
                .product(name: "StreamKit", package: "StreamKit"),
            ],
            swiftSettings: settings
        ),
        // The attack lab: a library, so that the tests and Scripts/attacklab run the same attacks.
        .target(
            name: "AttackLab",
            dependencies: [
                .product(name: "CredentialStores", package: "HTTPAuth"),
                .product(name: "DNSWire", package: "HostResolver"),
                .product(name: "HTTPServerKit", package: "HTTPStream"),
                .product(name: "HostResolverTesting", package: "HostResolver"),
                .product(name: "NetKit", package: "NetKit"),
                .product(name: "Peers", package: "Peers"),
                .product(name: "WebSocketStream", package: "WebSocketStream"),
            ],
            exclude: ["hostile"],
            swiftSettings: settings
        ),
        .executableTarget(
            name: "attack-lab",
            dependencies: ["AttackLab", "discovery-probe", "hostile-tls"],
            swiftSettings: settings
        ),
        // A TLS peer that sends data that no library sends.
        .executableTarget(
            name: "hostile-tls",
            linkerSettings: [.linkedLibrary("ssl"), .linkedLibrary("crypto")]
        ),
        // The listings of Apple's guides, written with NetKit.
        .target(
            name: "Listings",
            dependencies: [
                .product(name: "NetKit", package: "NetKit"),
                .product(name: "NetKitFoundation", package: "NetKit"),
                .product(name: "RunLoopDelivery", package: "EventLoops"),
            ],
            swiftSettings: settings
        ),
        .executableTarget(
            name: "listing",
            dependencies: ["Listings", .product(name: "NetKitFoundation", package: "NetKit")],
            swiftSettings: settings
        ),
        .testTarget(
            // Counts the descriptors and threads of its process, so it is a separate target.
            name: "CrowdTests",
            dependencies: [
                .product(name: "NetKit", package: "NetKit"),
                .product(name: "Peers", package: "Peers"),
            ],
            swiftSettings: settings
        ),
        .testTarget(
            name: "JourneyTests",
            dependencies: [
                "service-streams",
                .product(name: "NetKit", package: "NetKit"),
                .product(name: "Peers", package: "Peers"),
            ],
            swiftSettings: settings
        ),
        .testTarget(
            name: "ListingTests",
            dependencies: [
                "Listings", "listing",
                .product(name: "CredentialStores", package: "HTTPAuth"),
                .product(name: "NetKit", package: "NetKit"),
                .product(name: "StreamKitTesting", package: "StreamKit"),
                .product(name: "Peers", package: "Peers"),
            ],
            swiftSettings: settings
        ),
        .testTarget(
            name: "AttackTests",
            dependencies: ["AttackLab", "attack-lab", .product(name: "Peers", package: "Peers")],
            swiftSettings: settings
        ),
        .testTarget(
            name: "DiagnosisTests",
            dependencies: [
                "FaultLab", "diagnose-here",
                .product(name: "EventLoops", package: "EventLoops"),
                .product(name: "NetKit", package: "NetKit"),
                .product(name: "StreamKit", package: "StreamKit"),
                .product(name: "Peers", package: "Peers"),
            ],
            exclude: ["Sentences.tsv"],
            swiftSettings: settings
        ),
        .testTarget(
            name: "NetworkTests",
            dependencies: [
                "resolve-probe", "stream-probe", "watch-network", .product(name: "Peers", package: "Peers"),
            ],
            swiftSettings: settings
        ),
        .testTarget(
            name: "AuthenticationTests",
            dependencies: [
                .product(name: "CredentialStores", package: "HTTPAuth"),
                .product(name: "HTTPAuth", package: "HTTPAuth"),
                .product(name: "HTTPMessage", package: "HTTPMessage"),
                .product(name: "NetKit", package: "NetKit"),
                .product(name: "StreamKit", package: "StreamKit"),
                .product(name: "Peers", package: "Peers"),
            ],
            swiftSettings: settings
        ),
        .testTarget(
            name: "FTPPeerTests",
            dependencies: [
                .product(name: "EventLoops", package: "EventLoops"),
                .product(name: "FTPListing", package: "FTPStream"),
                .product(name: "FTPStream", package: "FTPStream"),
                .product(name: "NetKit", package: "NetKit"),
                .product(name: "StreamKitTesting", package: "StreamKit"),
                .product(name: "Peers", package: "Peers"),
            ],
            swiftSettings: settings
        ),
        .testTarget(
            name: "HTTPPeerTests",
            dependencies: [
                .product(name: "EventLoops", package: "EventLoops"),
                .product(name: "RunLoopDelivery", package: "EventLoops"),
                .product(name: "HTTPMessage", package: "HTTPMessage"),
                .product(name: "HostResolver", package: "HostResolver"),
                .product(name: "NetKit", package: "NetKit"),
                .product(name: "StreamKit", package: "StreamKit"),
                .product(name: "Peers", package: "Peers"),
            ],
            swiftSettings: settings
        ),
        .testTarget(
            name: "StreamPeerTests",
            dependencies: [
                .product(name: "EventLoops", package: "EventLoops"),
                .product(name: "HostResolver", package: "HostResolver"),
                .product(name: "StreamKit", package: "StreamKit"),
                .product(name: "StreamKitFoundation", package: "StreamKit"),
                .product(name: "StreamKitTesting", package: "StreamKit"),
                .product(name: "Peers", package: "Peers"),
            ],
            swiftSettings: settings
        ),
        .testTarget(
            name: "StreamSecurityTests",
            dependencies: [
                .product(name: "HTTPMessage", package: "HTTPMessage"),
                .product(name: "NetKit", package: "NetKit"),
                .product(name: "HostResolver", package: "HostResolver"),
                .product(name: "StreamKit", package: "StreamKit"),
                .product(name: "Peers", package: "Peers"),
            ],
            exclude: ["README.md"],
            swiftSettings: settings
        ),
        .testTarget(
            name: "WebSocketPeerTests",
            dependencies: [
                .product(name: "EventLoops", package: "EventLoops"),
                .product(name: "WebSocketStream", package: "WebSocketStream"),
                .product(name: "Peers", package: "Peers"),
            ],
            swiftSettings: settings
        ),
        .testTarget(
            name: "HTTP2PeerTests",
            dependencies: [
                .product(name: "EventLoops", package: "EventLoops"),
                .product(name: "HTTP2", package: "HTTP2"),
                .product(name: "HTTPMessage", package: "HTTPMessage"),
                .product(name: "HTTPStream", package: "HTTPStream"),
                .product(name: "StreamKit", package: "StreamKit"),
                .product(name: "Peers", package: "Peers"),
            ],
            swiftSettings: settings
        ),
        // A link to Tools/ExampleServer: the server that these tests load, in a separate process.
        .executableTarget(
            name: "serve",
            dependencies: [
                .product(name: "EventLoops", package: "EventLoops"),
                .product(name: "HTTPMessage", package: "HTTPMessage"),
                .product(name: "NetKit", package: "NetKit"),
                .product(name: "StreamKit", package: "StreamKit"),
            ],
            swiftSettings: settings
        ),
        .testTarget(
            name: "StreamServerTests",
            dependencies: [
                "serve",
                .product(name: "EventLoops", package: "EventLoops"),
                .product(name: "HTTPServerKit", package: "HTTPStream"),
                .product(name: "HostResolver", package: "HostResolver"),
                .product(name: "StreamKit", package: "StreamKit"),
                .product(name: "Peers", package: "Peers"),
            ],
            swiftSettings: settings
        ),
        // Logs in from a separate process: Kerberos reads its configuration from the environment.
        .executableTarget(
            name: "login",
            dependencies: [
                .product(name: "HTTPAuth", package: "HTTPAuth"),
                .product(name: "HTTPMessage", package: "HTTPMessage"),
                .product(name: "NetKit", package: "NetKit"),
                .product(name: "StreamKit", package: "StreamKit"),
            ],
            swiftSettings: settings
        ),
        .testTarget(
            name: "NegotiateTests",
            dependencies: ["login", .product(name: "Peers", package: "Peers")],
            swiftSettings: settings
        ),
        .testTarget(
            name: "ServiceDiscoveryPeerTests",
            dependencies: [
                "cfnetservices", "discovery-probe", "net-service", "service-streams", "stream-probe",
                .product(name: "NetKit", package: "NetKit"), .product(name: "Peers", package: "Peers"),
            ],
            swiftSettings: settings
        ),
    ],
    swiftLanguageModes: [.v6]
)
