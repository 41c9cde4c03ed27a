// The default route's watcher of a menu-bar program, in source as on Apple's systems: written from memory and compiled unchanged.
import Foundation
import SystemConfiguration

final class NetworkWatcher {
    private(set) var changes = 0
    private var store: SCDynamicStore?
    private var source: CFRunLoopSource?

    init?() {
        var context = SCDynamicStoreContext(
            version: 0, info: Unmanaged.passUnretained(self).toOpaque(), retain: nil, release: nil, copyDescription: nil
        )
        let callback: SCDynamicStoreCallBack = { _, keys, info in
            guard let info, let keys = keys as? [String] else { return }
            Unmanaged<NetworkWatcher>.fromOpaque(info).takeUnretainedValue().changes += keys.count
        }
        guard let store = SCDynamicStoreCreate(kCFAllocatorDefault, "watcher" as CFString, callback, &context) else {
            return nil
        }
        self.store = store
        let patterns = ["State:/Network/Interface/[^/]+/Link", "State:/Network/Global/.*"] as CFArray
        guard SCDynamicStoreSetNotificationKeys(store, nil, patterns) else { return nil }
        source = SCDynamicStoreCreateRunLoopSource(kCFAllocatorDefault, store, 0)
        CFRunLoopAddSource(CFRunLoopGetCurrent(), source, CFRunLoopMode.defaultMode)
    }

    var addresses: [String] {
        let key = SCDynamicStoreKeyCreateNetworkInterfaceEntity(
            nil, kSCDynamicStoreDomainState, "lo" as CFString, kSCEntNetIPv4)
        let value = SCDynamicStoreCopyValue(store, key) as? [String: Any]
        return value?[kSCPropNetIPv4Addresses as String] as? [String] ?? []
    }

    deinit {
        if let source { CFRunLoopSourceInvalidate(source) }
    }
}

@main struct Consumer {
    static func main() {
        guard let watcher = NetworkWatcher() else {
            return print("error \(SCError()): \(String(cString: SCErrorString(SCError())))")
        }
        print("lo: \(watcher.addresses.first ?? "none")")
        _ = CFRunLoopRunInMode(CFRunLoopMode.defaultMode, 0, true)

        guard let host = SCNetworkReachabilityCreateWithName(nil, "localhost") else { return print("no target") }
        var flags = SCNetworkReachabilityFlags()
        if SCNetworkReachabilityGetFlags(host, &flags), flags.contains(.reachable), !flags.contains(.connectionRequired)
        {
            print("localhost: \(String(flags.rawValue, radix: 16))")
        }
    }
}
