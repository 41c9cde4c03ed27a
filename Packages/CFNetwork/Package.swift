// swift-tools-version: 6.2.3
import PackageDescription

let settings: [SwiftSetting] =
    [
        .enableUpcomingFeature("ExistentialAny"),
        .enableUpcomingFeature("InternalImportsByDefault"),
        .enableUpcomingFeature("MemberImportVisibility"),
        .enableUpcomingFeature("NonisolatedNonsendingByDefault"),
    ] + (Context.environment["NETKIT_STRICT"] == nil ? [] : [.treatAllWarnings(as: .error)])

let package = Package(
    name: "CFNetwork",
    products: [
        .library(name: "CFNetworkEngine", targets: ["CFNetworkEngine"]),
        .library(name: "CFNetwork", targets: ["CFNetwork"]),
        .library(name: "SystemConfigurationEngine", targets: ["SystemConfigurationEngine"]),
        .library(name: "SystemConfiguration", targets: ["SystemConfiguration"]),
        .library(name: "SecurityEngine", targets: ["SecurityEngine"]),
        .library(name: "Security", targets: ["Security"]),
    ],
    dependencies: [
        .package(path: "../EventLoops"),
        .package(path: "../FTPStream"),
        .package(path: "../HTTPAuth"),
        .package(path: "../HTTPMessage"),
        .package(path: "../HTTPStream"),
        .package(path: "../HostResolver"),
        .package(path: "../NetDiag"),
        .package(path: "../NetKit"),
        .package(path: "../ServiceDiscovery"),
        .package(path: "../StreamKit"),
    ],
    targets: [
        .target(name: "CFNetworkC"),
        .target(
            name: "CFNetworkEngine",
            dependencies: [
                "CFNetworkC",
                .product(name: "EventLoops", package: "EventLoops"),
                .product(name: "RunLoopDelivery", package: "EventLoops"),
                .product(name: "FTPListing", package: "FTPStream"),
                .product(name: "FTPStream", package: "FTPStream"),
                .product(name: "HTTPAuth", package: "HTTPAuth"),
                .product(name: "HTTPMessage", package: "HTTPMessage"),
                .product(name: "HTTPStream", package: "HTTPStream"),
                .product(name: "HostResolver", package: "HostResolver"),
                .product(name: "NetDiag", package: "NetDiag"),
                .product(name: "NetKit", package: "NetKit"),
                .product(name: "ServiceDiscovery", package: "ServiceDiscovery"),
                .product(name: "StreamKit", package: "StreamKit"),
                .product(name: "StreamKitFoundation", package: "StreamKit"),
            ],
            swiftSettings: settings
        ),
        .target(name: "CFNetwork", dependencies: ["CFNetworkC", "CFNetworkEngine"], swiftSettings: settings),
        .target(name: "SystemConfigurationC", dependencies: ["CFNetworkC"]),
        .target(
            name: "SystemConfigurationEngine",
            dependencies: [
                "CFNetworkC", "CFNetworkEngine", "SystemConfigurationC",
                .product(name: "EventLoops", package: "EventLoops"),
                .product(name: "RunLoopDelivery", package: "EventLoops"),
                .product(name: "DNSWire", package: "HostResolver"),
                .product(name: "HostResolver", package: "HostResolver"),
                .product(name: "ServiceDiscovery", package: "ServiceDiscovery"),
                .product(name: "StreamKit", package: "StreamKit"),
            ],
            swiftSettings: settings
        ),
        .target(
            name: "SystemConfiguration",
            dependencies: [
                "CFNetwork", "SystemConfigurationC", "SystemConfigurationEngine",
                .product(name: "EventLoops", package: "EventLoops"),
            ],
            swiftSettings: settings
        ),
        .target(name: "SecurityC", dependencies: ["CFNetworkC"]),
        .target(
            name: "SecurityEngine",
            dependencies: [
                "CFNetworkC", "CFNetworkEngine", "SecurityC",
                .product(name: "EventLoops", package: "EventLoops"),
                .product(name: "CredentialStores", package: "HTTPAuth"),
                .product(name: "StreamKit", package: "StreamKit"),
            ],
            swiftSettings: settings
        ),
        .target(
            name: "Security", dependencies: ["CFNetwork", "SecurityC", "SecurityEngine"], swiftSettings: settings),
        .target(
            name: "CFNetworkPrograms", dependencies: ["CFNetworkC", "SecurityC", "SystemConfigurationC"],
            path: "Tests/CFNetworkPrograms"),
        .testTarget(
            name: "CFNetworkTests",
            dependencies: [
                "CFNetwork", "CFNetworkC", "CFNetworkEngine", "CFNetworkPrograms", "Security", "SecurityEngine",
                "SystemConfiguration", "SystemConfigurationEngine",
                .product(name: "CredentialStores", package: "HTTPAuth"),
                .product(name: "EventLoops", package: "EventLoops"),
                .product(name: "DNSWire", package: "HostResolver"),
                .product(name: "HostResolver", package: "HostResolver"),
                .product(name: "StreamKit", package: "StreamKit"),
                .product(name: "StreamKitTesting", package: "StreamKit"),
            ],
            swiftSettings: settings
        ),
    ],
    swiftLanguageModes: [.v6]
)
