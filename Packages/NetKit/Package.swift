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
    name: "NetKit",
    products: [
        .library(name: "NetKit", targets: ["NetKit"]),
        .library(name: "NetKitFoundation", targets: ["NetKitFoundation"]),
    ],
    traits: [
        .trait(name: "Logging", description: "Loads log their steps to a Logger of apple/swift-log.")
    ],
    dependencies: [
        .package(path: "../EventLoops"),
        .package(path: "../FTPStream"),
        .package(path: "../HTTPAuth"),
        .package(path: "../HTTPMessage"),
        .package(path: "../HTTPStream", traits: [.trait(name: "Logging", condition: .when(traits: ["Logging"]))]),
        .package(path: "../HostResolver"),
        .package(path: "../NetDiag"),
        .package(path: "../ServiceDiscovery"),
        .package(path: "../StreamKit", traits: [.trait(name: "Logging", condition: .when(traits: ["Logging"]))]),
        // Neither fetched nor built without the trait.
        .package(url: "https://github.com/apple/swift-log", from: "1.11.0"),
    ],
    targets: [
        .target(
            name: "NetKit",
            dependencies: [
                .product(name: "EventLoops", package: "EventLoops"),
                .product(name: "FTPStream", package: "FTPStream"),
                .product(name: "HTTPAuth", package: "HTTPAuth"),
                .product(name: "HTTPMessage", package: "HTTPMessage"),
                .product(name: "HTTPStream", package: "HTTPStream"),
                .product(name: "HostResolver", package: "HostResolver"),
                .product(name: "NetDiag", package: "NetDiag"),
                .product(name: "ServiceDiscovery", package: "ServiceDiscovery"),
                .product(name: "StreamKit", package: "StreamKit"),
            ],
            swiftSettings: settings
        ),
        .target(
            name: "NetKitFoundation",
            dependencies: [
                "NetKit",
                .product(name: "ServiceDiscovery", package: "ServiceDiscovery"),
                .product(name: "ServiceDiscoveryFoundation", package: "ServiceDiscovery"),
                .product(name: "StreamKitFoundation", package: "StreamKit"),
            ],
            swiftSettings: settings
        ),
        .testTarget(
            name: "NetKitTests",
            dependencies: [
                "NetKit",
                .product(name: "StreamKitFoundation", package: "StreamKit"),
                .product(name: "StreamKitTesting", package: "StreamKit"),
                .product(name: "InMemoryLogging", package: "swift-log", condition: .when(traits: ["Logging"])),
                .product(name: "Logging", package: "swift-log", condition: .when(traits: ["Logging"])),
            ],
            swiftSettings: settings
        ),
    ],
    swiftLanguageModes: [.v6]
)
