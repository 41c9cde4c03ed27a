// swift-tools-version: 6.2.3
import PackageDescription

let settings: [SwiftSetting] =
    [
        .enableUpcomingFeature("ExistentialAny"),
        .enableUpcomingFeature("InternalImportsByDefault"),
        .enableUpcomingFeature("MemberImportVisibility"),
        .enableUpcomingFeature("NonisolatedNonsendingByDefault"),
    ] + (Context.environment["NETKIT_STRICT"] == nil ? [] : [.treatAllWarnings(as: .error)])

// Tests of what the traits of HTTPMessage and HTTPStream add. They are a package of their own, so that the tests of those packages need
// nothing that has to be fetched, and are not built a second time. The traits are those of the consumer Traits, whose build is used.
let package = Package(
    name: "TraitTests",
    dependencies: [
        .package(path: "../../Packages/EventLoops"),
        .package(path: "../../Packages/HTTPMessage", traits: ["HTTPTypes"]),
        .package(
            path: "../../Packages/HTTPStream", traits: ["HTTPTypes", "Metrics", "ServiceLifecycle", "Tracing"]),
        .package(url: "https://github.com/apple/swift-distributed-tracing", from: "1.3.0"),
        .package(url: "https://github.com/apple/swift-http-types", from: "1.4.0"),
        .package(url: "https://github.com/apple/swift-log", from: "1.11.0"),
        .package(url: "https://github.com/apple/swift-metrics", from: "2.5.0"),
        .package(url: "https://github.com/swift-server/swift-service-lifecycle", from: "2.6.0"),
    ],
    targets: [
        .testTarget(
            name: "TraitTests",
            dependencies: [
                .product(name: "EventLoops", package: "EventLoops"),
                .product(name: "HTTPMessage", package: "HTTPMessage"),
                .product(name: "HTTPServerKit", package: "HTTPStream"),
                .product(name: "HTTPStreamTesting", package: "HTTPStream"),
                .product(name: "HTTPTypes", package: "swift-http-types"),
                .product(name: "InMemoryTracing", package: "swift-distributed-tracing"),
                .product(name: "Logging", package: "swift-log"),
                .product(name: "Metrics", package: "swift-metrics"),
                .product(name: "MetricsTestKit", package: "swift-metrics"),
                .product(name: "ServiceLifecycle", package: "swift-service-lifecycle"),
                .product(name: "Tracing", package: "swift-distributed-tracing"),
            ],
            swiftSettings: settings
        )
    ],
    swiftLanguageModes: [.v6]
)
