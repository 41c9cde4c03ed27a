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
    name: "ServiceDiscovery",
    products: [
        .library(name: "ServiceDiscovery", targets: ["ServiceDiscovery"]),
        .library(name: "ServiceDiscoveryFoundation", targets: ["ServiceDiscoveryFoundation"]),
        .library(name: "DNSServiceEngine", targets: ["DNSServiceEngine"]),
    ],
    traits: [
        .trait(name: "ServiceLifecycle", description: "BrowserService runs in a group of swift-service-lifecycle.")
    ],
    dependencies: [
        .package(path: "../EventLoops"),
        .package(path: "../HostResolver"),
        // Neither fetched nor built without the trait.
        .package(url: "https://github.com/swift-server/swift-service-lifecycle", from: "2.6.0"),
    ],
    targets: [
        .target(name: "CMulticast"),
        .target(name: "CServiceDaemon"),
        .target(name: "DNSServiceC"),
        .target(
            name: "ServiceDiscovery",
            dependencies: [
                "CMulticast",
                "CServiceDaemon",
                .product(name: "DNSWire", package: "HostResolver"),
                .product(name: "EventLoops", package: "EventLoops"),
                .product(name: "HostResolver", package: "HostResolver"),
                .product(
                    name: "ServiceLifecycle", package: "swift-service-lifecycle",
                    condition: .when(traits: ["ServiceLifecycle"])),
            ],
            swiftSettings: settings
        ),
        .target(
            name: "DNSServiceEngine",
            dependencies: [
                "DNSServiceC",
                "ServiceDiscovery",
                .product(name: "DNSWire", package: "HostResolver"),
                .product(name: "EventLoops", package: "EventLoops"),
                .product(name: "HostResolver", package: "HostResolver"),
            ],
            swiftSettings: settings
        ),
        .target(
            name: "ServiceDiscoveryFoundation",
            dependencies: [
                "ServiceDiscovery",
                .product(name: "EventLoops", package: "EventLoops"),
                .product(name: "RunLoopDelivery", package: "EventLoops"),
            ],
            swiftSettings: settings
        ),
        .testTarget(
            name: "ServiceDiscoveryTests",
            dependencies: [
                "CServiceDaemon",
                "DNSServiceC",
                "DNSServiceEngine",
                "ServiceDiscovery",
                "ServiceDiscoveryFoundation",
                .product(name: "DNSWire", package: "HostResolver"),
                .product(name: "EventLoops", package: "EventLoops"),
                .product(name: "HostResolver", package: "HostResolver"),
                .product(name: "HostResolverTesting", package: "HostResolver"),
                .product(name: "RunLoopDelivery", package: "EventLoops"),
            ],
            swiftSettings: settings
        ),
    ],
    swiftLanguageModes: [.v6]
)
