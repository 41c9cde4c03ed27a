// swift-tools-version: 6.2.3
import PackageDescription

let settings: [SwiftSetting] =
    [
        .enableUpcomingFeature("ExistentialAny"),
        .enableUpcomingFeature("InternalImportsByDefault"),
        .enableUpcomingFeature("MemberImportVisibility"),
        .enableUpcomingFeature("NonisolatedNonsendingByDefault"),
    ] + (Context.environment["NETKIT_STRICT"] == nil ? [] : [.treatAllWarnings(as: .error)])

// Every library and unit test of the repository, for who depends on it by Git URL and version. Each row stands
// also in Packages/<package>/Package.swift, which builds the package alone; Scripts/arrows proves that the two
// say the same. There is no `.package(path:)` here: SwiftPM refuses such a root as a versioned dependency.
let rows: [Row] = [
    // package, kind, target, imports
    Row("HTTPMessage", .library, "HTTPMessage"),
    Row("HTTPMessage", .tests, "HTTPMessageTests", ["HTTPMessage"]),

    Row("EventLoops", .shim, "CEventLoops"),
    Row("EventLoops", .library, "EventLoops", ["CEventLoops"]),
    Row("EventLoops", .library, "RunLoopDelivery", ["EventLoops"]),
    Row("EventLoops", .tests, "EventLoopsTests", ["EventLoops", "RunLoopDelivery"]),

    Row("HostResolver", .library, "IPAddresses"),
    Row("HostResolver", .library, "DNSWire", ["IPAddresses"]),
    Row("HostResolver", .library, "HostResolver", ["DNSWire", "IPAddresses", "EventLoops"]),
    Row("HostResolver", .shim, "CHostResolverTesting"),
    Row("HostResolver", .library, "HostResolverTesting", ["CHostResolverTesting", "HostResolver", "EventLoops"]),
    Row(
        "HostResolver", .tests, "HostResolverTests",
        ["DNSWire", "HostResolver", "HostResolverTesting", "IPAddresses", "RunLoopDelivery"]),

    Row("StreamKit", .system, "COpenSSL", apt: ["libssl-dev"]),
    Row("StreamKit", .shim, "CProxyScript"),
    Row("StreamKit", .shim, "CSockets"),
    Row("StreamKit", .part, "StreamCore", ["EventLoops", "HostResolver"]),
    Row("StreamKit", .part, "StreamProxies", ["StreamCore", "StreamTLS", "EventLoops", "HostResolver"]),
    Row("StreamKit", .part, "StreamSockets", ["CSockets", "StreamCore", "EventLoops", "HostResolver"]),
    Row("StreamKit", .part, "StreamTLS", ["COpenSSL", "StreamCore", "EventLoops", "HostResolver"]),
    Row(
        "StreamKit", .library, "StreamKit",
        ["CProxyScript", "StreamCore", "StreamProxies", "StreamSockets", "StreamTLS", "EventLoops", "HostResolver"]),
    Row("StreamKit", .library, "StreamKitFoundation", ["StreamKit", "EventLoops", "HostResolver", "RunLoopDelivery"]),
    Row("StreamKit", .library, "StreamKitTesting", ["StreamKit", "EventLoops"]),
    Row(
        "StreamKit", .tests, "StreamKitTests",
        [
            "COpenSSL", "CProxyScript", "StreamCore", "StreamKit", "StreamKitTesting", "StreamProxies", "StreamSockets",
            "StreamTLS", "EventLoops", "RunLoopDelivery", "HostResolver", "HostResolverTesting",
        ]),
    Row(
        "StreamKit", .tests, "StreamKitFoundationTests",
        ["StreamKitFoundation", "StreamKit", "StreamKitTesting", "EventLoops", "HostResolver"]),

    Row("HTTPAuth", .shim, "CGSSAPI"),
    Row("HTTPAuth", .system, "CLibcrypto", apt: ["libssl-dev"]),
    Row("HTTPAuth", .library, "HTTPAuth", ["CGSSAPI", "CLibcrypto", "EventLoops", "HTTPMessage"]),
    Row("HTTPAuth", .library, "CredentialStores", ["CLibcrypto", "HTTPAuth", "EventLoops"]),
    Row("HTTPAuth", .part, "HTTPAuthTesting", ["HTTPAuth"]),
    Row("HTTPAuth", .tests, "HTTPAuthTests", ["HTTPAuth", "HTTPAuthTesting", "EventLoops", "HTTPMessage"]),
    Row("HTTPAuth", .tests, "CredentialStoresTests", ["CredentialStores", "HTTPAuthTesting", "EventLoops"]),

    Row("HTTP2", .library, "HPACK", ["HTTPMessage"]),
    Row("HTTP2", .library, "HTTP2", ["HPACK", "HTTPMessage"]),
    Row("HTTP2", .part, "HTTP2Testing"),
    Row("HTTP2", .tests, "HPACKTests", ["HPACK", "HTTP2Testing", "HTTPMessage"]),
    Row("HTTP2", .tests, "HTTP2Tests", ["HPACK", "HTTP2", "HTTP2Testing", "HTTPMessage"]),

    Row("FTPStream", .library, "FTPListing"),
    Row("FTPStream", .library, "FTPStream", ["FTPListing", "StreamKit"]),
    Row("FTPStream", .tests, "FTPListingTests", ["FTPListing"]),
    Row("FTPStream", .tests, "FTPStreamTests", ["FTPStream"]),

    Row(
        "HTTPStream", .library, "HTTPStream",
        ["EventLoops", "HTTP2", "HTTPAuth", "HTTPMessage", "HostResolver", "StreamKit"]),
    Row("HTTPStream", .library, "HTTPServerKit", ["HTTPStream", "EventLoops"]),
    Row("HTTPStream", .library, "HTTPStreamTesting", ["HTTPStream", "EventLoops"]),
    Row(
        "HTTPStream", .tests, "HTTPStreamTests",
        [
            "HTTPStream", "HTTPStreamTesting", "EventLoops", "HTTP2", "HTTPAuth", "HTTPMessage", "HostResolver",
            "StreamKit", "StreamKitTesting",
        ]),
    Row(
        "HTTPStream", .tests, "HTTPServerKitTests",
        ["HTTPServerKit", "HTTPStream", "HTTPStreamTesting", "EventLoops", "HTTPMessage", "StreamKit"]),
    Row("HTTPStream", .tests, "HTTPStreamTestingTests", ["HTTPStreamTesting", "HTTPServerKit", "HTTPStream"]),

    Row("ServiceDiscovery", .shim, "CMulticast"),
    Row("ServiceDiscovery", .shim, "CServiceDaemon"),
    Row("ServiceDiscovery", .shim, "DNSServiceC"),
    Row(
        "ServiceDiscovery", .library, "ServiceDiscovery",
        ["CMulticast", "CServiceDaemon", "DNSWire", "EventLoops", "HostResolver"]),
    Row(
        "ServiceDiscovery", .library, "DNSServiceEngine",
        ["DNSServiceC", "ServiceDiscovery", "DNSWire", "EventLoops", "HostResolver"]),
    Row(
        "ServiceDiscovery", .library, "ServiceDiscoveryFoundation",
        ["ServiceDiscovery", "EventLoops", "RunLoopDelivery"]),
    Row(
        "ServiceDiscovery", .tests, "ServiceDiscoveryTests",
        [
            "CServiceDaemon", "DNSServiceC", "DNSServiceEngine", "ServiceDiscovery", "ServiceDiscoveryFoundation",
            "DNSWire", "EventLoops", "HostResolver", "HostResolverTesting", "RunLoopDelivery",
        ]),

    Row("NetDiag", .library, "NetDiag", ["DNSWire", "HTTPMessage", "HostResolver", "StreamKit"]),
    Row(
        "NetDiag", .tests, "NetDiagTests",
        ["NetDiag", "HTTPMessage", "HostResolver", "HostResolverTesting", "StreamKit", "StreamKitTesting"]),

    Row(
        "NetKit", .library, "NetKit",
        [
            "EventLoops", "FTPStream", "HTTPAuth", "HTTPMessage", "HTTPStream", "HostResolver", "NetDiag",
            "ServiceDiscovery", "StreamKit",
        ]),
    Row(
        "NetKit", .library, "NetKitFoundation",
        ["NetKit", "ServiceDiscovery", "ServiceDiscoveryFoundation", "StreamKitFoundation"]),
    Row("NetKit", .tests, "NetKitTests", ["NetKit", "StreamKitFoundation", "StreamKitTesting"]),

    Row("WebSocketStream", .library, "WebSocketStream", ["EventLoops", "HTTPMessage", "HTTPStream", "StreamKit"]),
    Row(
        "WebSocketStream", .tests, "WebSocketStreamTests",
        ["WebSocketStream", "EventLoops", "HTTPMessage", "HTTPStream", "StreamKit", "StreamKitTesting"]),

    Row("CFNetwork", .shim, "CFNetworkC"),
    Row(
        "CFNetwork", .library, "CFNetworkEngine",
        [
            "CFNetworkC", "EventLoops", "RunLoopDelivery", "FTPListing", "FTPStream", "HTTPAuth", "HTTPMessage",
            "HTTPStream", "HostResolver", "NetDiag", "NetKit", "ServiceDiscovery", "StreamKit", "StreamKitFoundation",
        ]),
    Row("CFNetwork", .library, "CFNetwork", ["CFNetworkC", "CFNetworkEngine"]),
    Row("CFNetwork", .shim, "SystemConfigurationC", ["CFNetworkC"]),
    Row(
        "CFNetwork", .library, "SystemConfigurationEngine",
        [
            "CFNetworkC", "CFNetworkEngine", "SystemConfigurationC", "EventLoops", "RunLoopDelivery", "DNSWire",
            "HostResolver", "ServiceDiscovery", "StreamKit",
        ]),
    Row(
        "CFNetwork", .library, "SystemConfiguration",
        ["CFNetwork", "SystemConfigurationC", "SystemConfigurationEngine", "EventLoops"]),
    Row("CFNetwork", .shim, "SecurityC", ["CFNetworkC"]),
    Row(
        "CFNetwork", .library, "SecurityEngine",
        ["CFNetworkC", "CFNetworkEngine", "SecurityC", "EventLoops", "CredentialStores", "StreamKit"]),
    Row("CFNetwork", .library, "Security", ["CFNetwork", "SecurityC", "SecurityEngine"]),
    Row("CFNetwork", .programs, "CFNetworkPrograms", ["CFNetworkC", "SecurityC", "SystemConfigurationC"]),
    Row(
        "CFNetwork", .tests, "CFNetworkTests",
        [
            "CFNetwork", "CFNetworkC", "CFNetworkEngine", "CFNetworkPrograms", "Security", "SecurityEngine",
            "SystemConfiguration", "SystemConfigurationEngine", "CredentialStores", "EventLoops", "DNSWire",
            "HostResolver", "StreamKit", "StreamKitTesting",
        ]),
]

struct Row {
    /// A part is a Swift module without a product: a library of the same package exports it, or only its tests use it. Programs are C sources that tests run.
    enum Kind { case shim, system, part, library, programs, tests }

    let target: Target
    let isProduct: Bool

    init(_ package: String, _ kind: Kind, _ name: String, _ imports: [String] = [], apt: [String] = []) {
        let dependencies = imports.map { Target.Dependency(stringLiteral: $0) }
        let folder = "Packages/\(package)"
        isProduct = kind == .library
        target =
            switch kind {
            case .shim: .target(name: name, dependencies: dependencies, path: "\(folder)/Sources/\(name)")
            case .system: .systemLibrary(name: name, path: "\(folder)/Sources/\(name)", providers: [.apt(apt)])
            case .part, .library:
                .target(
                    name: name, dependencies: dependencies, path: "\(folder)/Sources/\(name)", swiftSettings: settings)
            case .programs: .target(name: name, dependencies: dependencies, path: "\(folder)/Tests/\(name)")
            case .tests:
                .testTarget(
                    name: name, dependencies: dependencies, path: "\(folder)/Tests/\(name)", swiftSettings: settings)
            }
    }
}

let package = Package(
    name: "NetKit",
    products: rows.filter(\.isProduct).map { .library(name: $0.target.name, targets: [$0.target.name]) },
    targets: rows.map(\.target),
    swiftLanguageModes: [.v6]
)
