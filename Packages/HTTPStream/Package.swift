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
    name: "HTTPStream",
    products: [
        .library(name: "HTTPStream", targets: ["HTTPStream"]),
        .library(name: "HTTPServerKit", targets: ["HTTPServerKit"]),
        .library(name: "HTTPStreamTesting", targets: ["HTTPStreamTesting"]),
    ],
    traits: [
        .trait(name: "HTTPTypes", description: "Sessions and servers take the messages of apple/swift-http-types."),
        .trait(name: "Logging", description: "Loads log their steps to a Logger of apple/swift-log."),
        .trait(name: "Metrics", description: "HTTPMetrics reports requests to apple/swift-metrics."),
        .trait(name: "ServiceLifecycle", description: "HTTPService runs in a group of swift-service-lifecycle."),
        .trait(name: "Tracing", description: "Loads and requests have spans of apple/swift-distributed-tracing."),
    ],
    dependencies: [
        .package(path: "../EventLoops"),
        .package(path: "../HTTP2"),
        .package(path: "../HTTPAuth"),
        .package(path: "../HTTPMessage", traits: [.trait(name: "HTTPTypes", condition: .when(traits: ["HTTPTypes"]))]),
        .package(path: "../HostResolver"),
        .package(path: "../StreamKit", traits: [.trait(name: "Logging", condition: .when(traits: ["Logging"]))]),
        // Neither fetched nor built without their traits.
        .package(url: "https://github.com/apple/swift-distributed-tracing", from: "1.3.0"),
        .package(url: "https://github.com/apple/swift-http-types", from: "1.4.0"),
        .package(url: "https://github.com/apple/swift-log", from: "1.11.0"),
        .package(url: "https://github.com/apple/swift-metrics", from: "2.5.0"),
        .package(url: "https://github.com/swift-server/swift-service-lifecycle", from: "2.6.0"),
    ],
    targets: [
        .target(
            name: "HTTPStream",
            dependencies: [
                .product(name: "EventLoops", package: "EventLoops"),
                .product(name: "HTTP2", package: "HTTP2"),
                .product(name: "HTTPAuth", package: "HTTPAuth"),
                .product(name: "HTTPMessage", package: "HTTPMessage"),
                .product(name: "HostResolver", package: "HostResolver"),
                .product(name: "StreamKit", package: "StreamKit"),
                .product(name: "HTTPTypes", package: "swift-http-types", condition: .when(traits: ["HTTPTypes"])),
                .product(name: "Logging", package: "swift-log", condition: .when(traits: ["Logging"])),
                .product(name: "Metrics", package: "swift-metrics", condition: .when(traits: ["Metrics"])),
                .product(name: "Tracing", package: "swift-distributed-tracing", condition: .when(traits: ["Tracing"])),
            ],
            swiftSettings: settings
        ),
        .target(
            name: "HTTPServerKit",
            dependencies: [
                "HTTPStream",
                .product(name: "EventLoops", package: "EventLoops"),
                .product(
                    name: "ServiceLifecycle", package: "swift-service-lifecycle",
                    condition: .when(traits: ["ServiceLifecycle"])),
            ],
            swiftSettings: settings
        ),
        .target(
            name: "HTTPStreamTesting",
            dependencies: [
                "HTTPStream",
                .product(name: "EventLoops", package: "EventLoops"),
            ],
            swiftSettings: settings
        ),
        .testTarget(
            name: "HTTPStreamTests",
            dependencies: [
                "HTTPStream",
                "HTTPStreamTesting",
                .product(name: "EventLoops", package: "EventLoops"),
                .product(name: "HTTP2", package: "HTTP2"),
                .product(name: "HTTPAuth", package: "HTTPAuth"),
                .product(name: "HTTPMessage", package: "HTTPMessage"),
                .product(name: "HostResolver", package: "HostResolver"),
                .product(name: "StreamKit", package: "StreamKit"),
                .product(name: "StreamKitTesting", package: "StreamKit"),
            ],
            swiftSettings: settings
        ),
        .testTarget(
            name: "HTTPServerKitTests",
            dependencies: [
                "HTTPServerKit",
                "HTTPStream",
                "HTTPStreamTesting",
                .product(name: "EventLoops", package: "EventLoops"),
                .product(name: "HTTPMessage", package: "HTTPMessage"),
                .product(name: "StreamKit", package: "StreamKit"),
            ],
            swiftSettings: settings
        ),
        .testTarget(
            name: "HTTPStreamTestingTests",
            dependencies: [
                "HTTPStreamTesting",
                "HTTPServerKit",
                "HTTPStream",
            ],
            swiftSettings: settings
        ),
    ],
    swiftLanguageModes: [.v6]
)
