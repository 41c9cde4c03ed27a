// swift-tools-version: 6.2.3
import PackageDescription

let settings: [SwiftSetting] =
    [
        .enableUpcomingFeature("ExistentialAny"),
        .enableUpcomingFeature("InternalImportsByDefault"),
        .enableUpcomingFeature("MemberImportVisibility"),
        .enableUpcomingFeature("NonisolatedNonsendingByDefault"),
    ] + (Context.environment["NETKIT_STRICT"] == nil ? [] : [.treatAllWarnings(as: .error)])

// Built by Scripts/conform, which makes the internals of the packages testable in a release build.
let package = Package(
    name: "Conformance",
    dependencies: [
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
    ],
    targets: [
        .executableTarget(
            name: "conform",
            dependencies: [
                .product(name: "FTPListing", package: "FTPStream"),
                .product(name: "FTPStream", package: "FTPStream"),
                .product(name: "HPACK", package: "HTTP2"),
                .product(name: "HTTP2", package: "HTTP2"),
                .product(name: "HTTPAuth", package: "HTTPAuth"),
                .product(name: "HTTPMessage", package: "HTTPMessage"),
                .product(name: "HTTPStream", package: "HTTPStream"),
                .product(name: "HostResolver", package: "HostResolver"),
                .product(name: "NetKit", package: "NetKit"),
                .product(name: "ServiceDiscovery", package: "ServiceDiscovery"),
                .product(name: "StreamKit", package: "StreamKit"),
                .product(name: "WebSocketStream", package: "WebSocketStream"),
            ],
            swiftSettings: settings)
    ],
    swiftLanguageModes: [.v6]
)
