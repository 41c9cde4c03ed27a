// swift-tools-version: 6.2.3
import PackageDescription

let settings: [SwiftSetting] =
    [
        .enableUpcomingFeature("ExistentialAny"),
        .enableUpcomingFeature("InternalImportsByDefault"),
        .enableUpcomingFeature("MemberImportVisibility"),
        .enableUpcomingFeature("NonisolatedNonsendingByDefault"),
        // libFuzzer brings `main`.
        .unsafeFlags(["-parse-as-library"]),
    ] + (Context.environment["NETKIT_STRICT"] == nil ? [] : [.treatAllWarnings(as: .error)])

// Built by Scripts/fuzz only, with libFuzzer and AddressSanitizer.
let package = Package(
    name: "Fuzz",
    dependencies: [
        .package(path: "../../Packages/FTPStream"),
        .package(path: "../../Packages/HTTP2"),
        .package(path: "../../Packages/HTTPAuth"),
        .package(path: "../../Packages/HTTPMessage"),
        .package(path: "../../Packages/HostResolver"),
        .package(path: "../../Packages/ServiceDiscovery"),
        .package(path: "../../Packages/WebSocketStream"),
    ],
    targets: [
        .executableTarget(
            name: "fuzz",
            dependencies: [
                .product(name: "CredentialStores", package: "HTTPAuth"),
                .product(name: "DNSWire", package: "HostResolver"),
                .product(name: "FTPListing", package: "FTPStream"),
                .product(name: "FTPStream", package: "FTPStream"),
                .product(name: "HPACK", package: "HTTP2"),
                .product(name: "HTTP2", package: "HTTP2"),
                .product(name: "HTTPAuth", package: "HTTPAuth"),
                .product(name: "HTTPMessage", package: "HTTPMessage"),
                .product(name: "HostResolver", package: "HostResolver"),
                .product(name: "DNSServiceEngine", package: "ServiceDiscovery"),
                .product(name: "ServiceDiscovery", package: "ServiceDiscovery"),
                .product(name: "WebSocketStream", package: "WebSocketStream"),
            ],
            swiftSettings: settings
        )
    ],
    swiftLanguageModes: [.v6]
)
