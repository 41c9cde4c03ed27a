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
    name: "EventLoops",
    products: [
        .library(name: "EventLoops", targets: ["EventLoops"]),
        .library(name: "RunLoopDelivery", targets: ["RunLoopDelivery"]),
    ],
    targets: [
        .target(name: "CEventLoops"),
        .target(name: "EventLoops", dependencies: ["CEventLoops"], swiftSettings: settings),
        .target(name: "RunLoopDelivery", dependencies: ["EventLoops"], swiftSettings: settings),
        .testTarget(name: "EventLoopsTests", dependencies: ["EventLoops", "RunLoopDelivery"], swiftSettings: settings),
    ],
    swiftLanguageModes: [.v6]
)
