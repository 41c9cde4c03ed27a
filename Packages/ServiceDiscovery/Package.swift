// swift-tools-version: 6.2
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
    ],
    dependencies: [
        .package(path: "../EventLoops"),
        .package(path: "../HostResolver"),
    ],
    targets: [
        .target(name: "CMulticast"),
        .target(name: "CServiceDaemon"),
        .target(
            name: "ServiceDiscovery",
            dependencies: [
                "CMulticast",
                "CServiceDaemon",
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
                "ServiceDiscovery",
                "ServiceDiscoveryFoundation",
                .product(name: "DNSWire", package: "HostResolver"),
                .product(name: "EventLoops", package: "EventLoops"),
                .product(name: "HostResolver", package: "HostResolver"),
                .product(name: "RunLoopDelivery", package: "EventLoops"),
            ],
            swiftSettings: settings
        ),
    ],
    swiftLanguageModes: [.v6]
)
