// swift-tools-version: 6.2.3
import PackageDescription

let settings: [SwiftSetting] =
    [
        .enableUpcomingFeature("ExistentialAny"),
        .enableUpcomingFeature("InternalImportsByDefault"),
        .enableUpcomingFeature("MemberImportVisibility"),
        .enableUpcomingFeature("NonisolatedNonsendingByDefault"),
    ] + (Context.environment["NETKIT_STRICT"] == nil ? [] : [.treatAllWarnings(as: .error)])

// The folder is not called netkit: SwiftPM would take it for the same package as Packages/NetKit.
let package = Package(
    name: "NetKitTool",
    products: [
        .executable(name: "netkit", targets: ["netkit"])
    ],
    dependencies: [
        .package(path: "../../Packages/HTTPAuth"),
        .package(path: "../../Packages/HostResolver"),
        .package(path: "../../Packages/NetKit"),
        .package(path: "../../Packages/ServiceDiscovery"),
        .package(path: "../../Packages/WebSocketStream"),
        .package(path: "../../Tests/Peers"),
        .package(url: "https://github.com/apple/swift-argument-parser", from: "1.5.0"),
    ],
    targets: [
        .executableTarget(
            name: "netkit",
            dependencies: [
                .product(name: "CredentialStores", package: "HTTPAuth"),
                .product(name: "DNSWire", package: "HostResolver"),
                .product(name: "NetKit", package: "NetKit"),
                .product(name: "ServiceDiscovery", package: "ServiceDiscovery"),
                .product(name: "ArgumentParser", package: "swift-argument-parser"),
            ],
            swiftSettings: settings
        ),
        // Scripts/tour builds it with the tool, which it runs at its last stop.
        .executableTarget(
            name: "tour",
            dependencies: [
                .product(name: "NetKitFoundation", package: "NetKit"),
                .product(name: "Peers", package: "Peers"),
            ],
            swiftSettings: settings
        ),
        .testTarget(
            name: "NetKitToolTests",
            dependencies: [
                "netkit",
                .product(name: "DNSWire", package: "HostResolver"),
                .product(name: "HostResolver", package: "HostResolver"),
                .product(name: "NetKit", package: "NetKit"),
                .product(name: "Peers", package: "Peers"),
                .product(name: "WebSocketStream", package: "WebSocketStream"),
            ],
            swiftSettings: settings
        ),
    ],
    swiftLanguageModes: [.v6]
)
