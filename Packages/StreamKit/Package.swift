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
    name: "StreamKit",
    products: [
        .library(name: "StreamKit", targets: ["StreamKit"]),
        .library(name: "StreamKitFoundation", targets: ["StreamKitFoundation"]),
        .library(name: "StreamKitTesting", targets: ["StreamKitTesting"]),
    ],
    traits: [
        .trait(name: "Logging", description: "Logs the steps of opening a stream to a Logger of apple/swift-log.")
    ],
    dependencies: [
        .package(path: "../EventLoops"),
        .package(path: "../HostResolver"),
        // Fetched and built only with the trait.
        .package(url: "https://github.com/apple/swift-log", from: "1.11.0"),
    ],
    targets: [
        .systemLibrary(name: "COpenSSL", providers: [.apt(["libssl-dev"])]),
        .target(name: "CProxyScript"),
        .target(name: "CSockets"),
        .target(
            name: "StreamCore",
            dependencies: [
                .product(name: "EventLoops", package: "EventLoops"),
                .product(name: "HostResolver", package: "HostResolver"),
            ],
            swiftSettings: settings
        ),
        .target(
            name: "StreamProxies",
            dependencies: [
                "StreamCore",
                "StreamTLS",
                .product(name: "EventLoops", package: "EventLoops"),
                .product(name: "HostResolver", package: "HostResolver"),
            ],
            swiftSettings: settings
        ),
        .target(
            name: "StreamSockets",
            dependencies: [
                "CSockets",
                "StreamCore",
                .product(name: "EventLoops", package: "EventLoops"),
                .product(name: "HostResolver", package: "HostResolver"),
            ],
            swiftSettings: settings
        ),
        .target(
            name: "StreamTLS",
            dependencies: [
                "COpenSSL",
                "StreamCore",
                .product(name: "EventLoops", package: "EventLoops"),
                .product(name: "HostResolver", package: "HostResolver"),
            ],
            swiftSettings: settings
        ),
        .target(
            name: "StreamKit",
            dependencies: [
                "CProxyScript",
                "StreamCore",
                "StreamProxies",
                "StreamSockets",
                "StreamTLS",
                .product(name: "EventLoops", package: "EventLoops"),
                .product(name: "HostResolver", package: "HostResolver"),
                .product(name: "Logging", package: "swift-log", condition: .when(traits: ["Logging"])),
            ],
            swiftSettings: settings
        ),
        .target(
            name: "StreamKitFoundation",
            dependencies: [
                "StreamKit",
                .product(name: "EventLoops", package: "EventLoops"),
                .product(name: "HostResolver", package: "HostResolver"),
                .product(name: "RunLoopDelivery", package: "EventLoops"),
            ],
            swiftSettings: settings
        ),
        .target(
            name: "StreamKitTesting",
            dependencies: ["StreamKit", .product(name: "EventLoops", package: "EventLoops")],
            swiftSettings: settings
        ),
        .testTarget(
            name: "StreamKitTests",
            dependencies: [
                "COpenSSL",
                "CProxyScript",
                "StreamCore",
                "StreamKit",
                "StreamKitTesting",
                "StreamProxies",
                "StreamSockets",
                "StreamTLS",
                .product(name: "EventLoops", package: "EventLoops"),
                .product(name: "RunLoopDelivery", package: "EventLoops"),
                .product(name: "HostResolver", package: "HostResolver"),
                .product(name: "HostResolverTesting", package: "HostResolver"),
            ],
            swiftSettings: settings
        ),
        .testTarget(
            name: "StreamKitFoundationTests",
            dependencies: [
                "StreamKitFoundation",
                "StreamKit",
                "StreamKitTesting",
                .product(name: "EventLoops", package: "EventLoops"),
                .product(name: "HostResolver", package: "HostResolver"),
            ],
            swiftSettings: settings
        ),
    ],
    swiftLanguageModes: [.v6]
)
