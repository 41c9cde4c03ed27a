import DNSWire
import HostResolver
@_spi(Packages) import StreamKit
import SystemConfiguration
import Testing

@testable import CFNetworkEngine
@testable import EventLoops
@testable import SystemConfigurationEngine

/// SystemConfiguration in Swift, as sources for Apple's systems use it, and the values of networks that no test can create. The programs in
/// C test its behaviour.
@Suite(.timeLimit(.minutes(5)))
struct SystemConfigurationTests {
    @Test func sourceAsOnApplesSystems() throws {
        let store = try #require(SCDynamicStoreCreate(nil, "tests" as CFString, nil, nil))
        let key = SCDynamicStoreKeyCreateNetworkInterfaceEntity(
            nil, kSCDynamicStoreDomainState, "lo" as CFString, kSCEntNetIPv4)
        let value = try #require(SCDynamicStoreCopyValue(store, key) as? [String: Any])
        #expect((value[kSCPropNetIPv4Addresses as String] as? [String])?.first == "127.0.0.1")
        let keys = SCDynamicStoreCopyKeyList(store, "State:/Network/Interface/[^/]+/Link" as CFString) as? [String]
        #expect(keys?.contains("State:/Network/Interface/lo/Link") == true)
        #expect((SCDynamicStoreCopyComputerName(store, nil) as String?)?.isEmpty == false)
        #expect(SCDynamicStoreCopyProxies(nil) as? [String: Any] != nil)
        #expect(SCDynamicStoreCopyValue(store, "Setup:/Nothing" as CFString) == nil && SCError() == kSCStatusNoKey)
        #expect(CFErrorGetCode(SCCopyLastError()) == kSCStatusNoKey)
        #expect(SCDynamicStoreSetNotificationKeys(store, [key] as CFArray, nil))
    }

    @Test func reachabilityCallsAClosure() async throws {
        final class Info: Sendable {}
        weak var gone: Info?
        do {
            let info = Info()
            gone = info
            let target = try #require(SCNetworkReachabilityCreateWithName(nil, "localhost"))
            var address = sockaddr()
            address.sa_len = UInt8(MemoryLayout<sockaddr>.size)
            address.sa_family = sa_family_t(AF_INET)
            #expect(address.sa_len == 16 && SCNetworkReachabilityCreateWithAddress(nil, &address) != nil)
            let flags = await withCheckedContinuation { continuation in
                var context = SCNetworkReachabilityContext(
                    version: 0, info: Unmanaged.passUnretained(info).toOpaque(),
                    retain: { UnsafeRawPointer(Unmanaged<Info>.fromOpaque($0).retain().toOpaque()) },
                    release: { Unmanaged<Info>.fromOpaque($0).release() },
                    copyDescription: { _ in Unmanaged.passRetained("the info" as CFString) })
                let queue = DispatchQueue(label: "tests")
                #expect(
                    SCNetworkReachabilitySetCallback(
                        target,
                        { _, flags, info in
                            _ = Unmanaged<Info>.fromOpaque(info!).takeUnretainedValue()
                            continuation.resume(returning: flags)
                        }, &context))
                #expect(SCNetworkReachabilitySetDispatchQueue(target, queue))
            }
            #expect(flags == [.reachable, .isLocalAddress, .isDirect])
            let description = unsafeBitCast(CFCopyDescription(target), to: NSString.self) as String
            #expect(description.hasSuffix("{localhost, the info}"))
            SCNetworkReachabilitySetCallback(target, nil, nil)
            SCNetworkReachabilitySetDispatchQueue(target, nil)
        }
        #expect(gone == nil)
    }

    private func interface(
        _ index: UInt32, _ name: String, hasCarrier: Bool = true, _ addresses: [InterfaceAddress] = []
    )
        -> NetworkInterface
    {
        NetworkInterface(name: name, index: index, hasCarrier: hasCarrier, addresses: addresses)
    }

    private func values(_ network: NetworkSnapshot, _ resolver: ResolverConfiguration = .init(parsing: "")) -> [String:
        StoreValue]
    {
        StoreSnapshot(network, resolver, nil, computerName: "Anna’s", localHostName: "annas").values
    }

    @Test func valuesOfInterfaces() {
        let address = InterfaceAddress(IPAddress("192.0.2.7")!, prefixLength: 24)
        let tunnel = InterfaceAddress(IPAddress("198.51.100.1")!, prefixLength: 32)
        let found = values(
            NetworkSnapshot(interfaces: [
                interface(
                    2, "eth0",
                    [
                        address, InterfaceAddress(IPAddress("2001:db8::7")!, prefixLength: 64),
                        InterfaceAddress(IPAddress("2001:db8::8")!, prefixLength: 64, isTentative: true),
                    ]),
                interface(3, "tun0", hasCarrier: false, [tunnel]),
            ]))
        #expect(
            found["State:/Network/Interface"] == .dictionary(["Interfaces": .list([.text("eth0"), .text("tun0")])]))
        #expect(
            found["State:/Network/Interface/eth0/IPv4"]
                == .dictionary([
                    "Addresses": .list([.text("192.0.2.7")]), "SubnetMasks": .list([.text("255.255.255.0")]),
                    "BroadcastAddresses": .list([.text("192.0.2.255")]),
                ]))
        #expect(
            found["State:/Network/Interface/eth0/IPv6"]
                == .dictionary(["Addresses": .list([.text("2001:db8::7")]), "PrefixLength": .list([.number(64)])]))
        #expect(found["State:/Network/Interface/eth0/Link"] == .dictionary(["Active": .flag(true)]))
        #expect(found["State:/Network/Interface/tun0/Link"] == .dictionary(["Active": .flag(false)]))
        #expect(
            found["State:/Network/Interface/tun0/IPv4"]
                == .dictionary([
                    "Addresses": .list([.text("198.51.100.1")]), "SubnetMasks": .list([.text("255.255.255.255")]),
                ]))
        #expect(found["State:/Network/Interface/tun0/IPv6"] == nil)
        #expect(
            found["Setup:/System"]
                == .dictionary(["ComputerName": .text("Anna’s"), "ComputerNameEncoding": .number(0x0800_0100)]))
        #expect(found["Setup:/Network/HostNames"] == .dictionary(["LocalHostName": .text("annas")]))
        #expect(found["State:/Network/Global/Proxies"] == nil && found["State:/Network/Global/IPv4"] == nil)
    }

    /// The preferred route whose link works counts, for each family.
    @Test func valuesOfRoutesAndNameServers() {
        let unplugged = Route(kind: .unicast, gateway: IPAddress("192.0.2.1"), interfaceIndex: 2, family: .v4)
        let working = Route(kind: .unicast, gateway: IPAddress("198.51.100.1"), interfaceIndex: 3, family: .v4)
        let direct = Route(kind: .unicast, interfaceIndex: 3, family: .v6)
        let found = values(
            NetworkSnapshot(
                interfaces: [interface(2, "eth0", hasCarrier: false), interface(3, "eth1")],
                defaultRoutes: [unplugged, working, direct]),
            ResolverConfiguration(
                parsing: "nameserver 192.0.2.53\nnameserver 2001:db8::53\nsearch one.example two.example\n"))
        #expect(
            found["State:/Network/Global/IPv4"]
                == .dictionary(["PrimaryInterface": .text("eth1"), "Router": .text("198.51.100.1")]))
        #expect(found["State:/Network/Global/IPv6"] == .dictionary(["PrimaryInterface": .text("eth1")]))
        #expect(
            found["State:/Network/Global/DNS"]
                == .dictionary([
                    "ServerAddresses": .list([.text("192.0.2.53"), .text("2001:db8::53")]),
                    "SearchDomains": .list([.text("one.example"), .text("two.example")]),
                    "DomainName": .text("one.example"),
                ]))
        #expect(values(NetworkSnapshot())["State:/Network/Global/DNS"] == nil)
    }

    @Test(arguments: [
        ("State:/Network/[^/]+", "State:/Network/Interface", true),
        ("State:/Network/[^/]+", "State:/Network/Interface/lo", false),
        ("a|ab", "ab", true), ("b", "ab", false), ("", "", true), ("é.", "éx", true),
        ("(a|b)*c?", "abba", true), ("(a|b)*c?", "abcc", false), ("a{2,3}", "a", false), ("a{2,3}", "aaa", true),
        ("a{2,3}", "aaaa", false), ("a{2}", "aa", true), ("a{1,}b", "aab", true), ("(ab){0,2}", "abab", true),
        ("()|x", "", true), ("a||b", "", true), ("x)", "x)", true), ("^a$", "a", true), ("a^b", "a^b", false),
        ("a+", "", false), ("a.c", "a\nc", true), (#"a\.b"#, "a.b", true), (#"a\.b"#, "axb", false),
        ("(a*)*", "aaa", true), ("(a*)+", "", true), ("(a+)+b", "aab", true), ("(){2,}", "", true),
        ("(a|){2,}", "a", true),
        ("a{2,}", "a", false), ("(ab){2,}", "ababab", true), ("(ab){2,}", "ababa", false), ("a{0,}", "", true),
        ("[%--]", "-", true), ("[--/]", ".", true), ("[a-c-]", "-", true), ("[[:digit:]-]", "-", true),
        ("[[=a=]-]", "-", true), ("[a-[.c.]]", "b", true),
        ("[]a-]+", "a]-", true), ("[^]a]", "]", false), ("[a-c]", "b", true), ("[[:alpha:]_]+", "a_B", true),
        ("[[:digit:]]", "a", false), ("[[.a.]-c]", "b", true), ("[[=a=]]", "a", true), (#"[\]"#, #"\"#, true),
    ])
    func patternsMatchWholeKeys(pattern: String, key: String, isMatch: Bool) throws {
        #expect(try #require(KeyPattern(pattern)).matches(key) == isMatch)
    }

    @Test(arguments: [
        "(", "[", "a\0b", "*a{", "a{", "a{1", "a{2,1}", "a{,2}", "{1}", "a|*b", "^*", #"(a)\1"#, #"a\"#, "[b-a]",
        "[[:x:]]",
        "[[.ab.]]", "[[:alpha", "[a", "[A-[:digit:]]", "[A-[=a=]]", "[[:alpha:]-z]", "[[=a=]-c]", "[a-c-e]", "[a-c--]",
        "[A-[:x]", "[A-[.]", "[A-[=]",
    ]) func invalidPatterns(pattern: String) {
        #expect(KeyPattern(pattern) == nil)
    }

    /// Patterns for which the C library needs exponential time or memory, or its stack ends: each is refused, or its steps are bounded by
    /// the sizes of pattern and key. Without the bounds, the test does not end.
    @Test(arguments: [
        (String(repeating: "(", count: 30) + "a" + String(repeating: "*)*", count: 30) + "b", true),
        ("(a*)*b", true), ("(a|a)*b", true), ("(.*.*.*.*.*.*)*b", true), ("(a?){255}b", true),
        ("(a{0,100}){0,100}b", false), ("((((((a{1,8}){1,8}){1,8}){1,8}){1,8}){1,8})", false), ("a{256}", false),
        (String(repeating: "(", count: 33) + "a" + String(repeating: ")", count: 33), false),
        ("a" + String(repeating: "*", count: 33) + "b", true), (String(repeating: "a", count: 1025), false),
        (String(repeating: "é", count: 513), false), ("(a{255}b{255}){5}", false), ("(a{255}b{255}){4}", true),
        ("(.{0,170}){6}b", true), ("(abc|de){228}", true), ("(" + String(repeating: "a+", count: 256) + ")+b", true),
        (String(repeating: "(", count: 32) + "a" + String(repeating: "+)", count: 32) + "+b", true),
    ])
    func patternsAreBounded(pattern: String, isAccepted: Bool) {
        let compiled = KeyPattern(pattern)
        #expect((compiled != nil) == isAccepted)
        #expect(compiled?.matches(String(repeating: "a", count: 1_000)) != true)
    }

    /// The places of each part, by what fits beside it.
    @Test(arguments: [
        ("a", 1), (".", 1), ("()", 0), ("^", 1), ("$", 1), ("a+", 2), ("a?", 2), ("a*", 3), ("a|b", 4), ("(a|b)+", 5),
        ("a{3}", 3), ("a{1,3}", 5), ("a{0,}", 3), ("a{2,}", 3), ("a{0}", 0), ("[abc]", 3), ("[a-c]", 1),
        ("[[:punct:]]", 4), ("[^a]", 1), ("[acegikmoqsuwy]{20}", 260),
    ])
    func aPatternHasPlaces(pattern: String, places: Int) {
        // 1,530 places and the rest.
        let rest = 2_048 - 1_530 - places
        let padding = "(x{255}y{255}){3}z{\(rest / 3)}z{\(rest / 3)}z{\(rest - rest / 3 * 2)}"
        #expect(KeyPattern("(" + pattern + ")" + padding) != nil)
        #expect(KeyPattern("(" + pattern + ")z" + padding) == nil)
    }

    /// The callback of a session is not called while it runs, although the queue has another thread for it. The call that was asked for
    /// meanwhile follows.
    @Test func callbacksDoNotOverlap() async {
        await #expect(processExitsWith: .success) {
            let folder = FileManager.default.temporaryDirectory.appending(path: "store-\(UUID())")
            let settings = folder.appending(path: "netkit/proxies")
            try FileManager.default.createDirectory(
                at: settings.deletingLastPathComponent(), withIntermediateDirectories: true)
            defer { try? FileManager.default.removeItem(at: folder) }
            setenv("XDG_CONFIG_HOME", folder.path, 1)
            let (calls, target) = (OverlappingCalls(), ManualTarget())
            var context = SCDynamicStoreContext(
                version: 0, info: Unmanaged.passUnretained(calls).toOpaque(), retain: nil, release: nil,
                copyDescription: nil)
            let store = SCDynamicStoreCreate(
                nil, "tests" as CFString,
                { _, _, info in Unmanaged<OverlappingCalls>.fromOpaque(info!).takeUnretainedValue().call() }, &context)
            guard let store else { preconditionFailure() }
            let keys = [SCDynamicStoreKeyCreateProxies(nil)] as CFArray
            precondition(SCDynamicStoreSetNotificationKeys(store, keys, nil) && setQueue(of: store, to: target))
            try Data("http_proxy = http://one.example:1\n".utf8).write(to: settings, options: .atomic)
            target.signalled.wait()
            Thread.detachNewThread { target.run() }
            calls.begun.wait()
            try Data("http_proxy = http://two.example:2\n".utf8).write(to: settings, options: .atomic)
            target.signalled.wait()
            target.run()
            precondition(calls.mostAtOnce == 1)
            calls.mayEnd.signal()
            calls.begun.wait()
            precondition(calls.mostAtOnce == 1 && setQueue(of: store, to: nil))
        }
    }

    /// Without a descriptor, nothing is known, which is not the same as nothing being there.
    @Test func noDescriptorIsLeft() async {
        await #expect(processExitsWith: .success) {
            setenv("http_proxy", "http://one.example:1", 1)
            let store = SCDynamicStoreCreate(nil, "tests" as CFString, nil, nil)
            guard let store, let content: StoreContent = CFNetworkEngine.content(of: store, StoreContent.typeID)
            else { preconditionFailure() }
            let (links, proxies) = ("State:/Network/Interface" as CFString, SCDynamicStoreKeyCreateProxies(nil))
            precondition(SCDynamicStoreSetNotificationKeys(store, [links, proxies] as CFArray, nil))
            func changed() -> [String]? { SCDynamicStoreCopyNotifiedKeys(store) as? [String] }
            var limit = rlimit()
            getrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &limit)
            let former = limit
            limit.rlim_cur = 3
            precondition(setrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &limit) == 0)
            precondition(SCDynamicStoreCopyValue(store, links) == nil && SCError() == kSCStatusFailed)
            precondition(SCDynamicStoreCopyMultiple(store, nil, [".*"] as CFArray) == nil)
            precondition(!SCDynamicStoreSetNotificationKeys(store, nil, [".*"] as CFArray))
            setenv("http_proxy", "http://two.example:2", 1)
            content.compare()
            precondition(changed() == [])
            limit = former
            setrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &limit)
            // The comparison is repeated.
            var found: [String]? = []
            while found == [] { found = changed() }
            precondition(found == ["State:/Network/Global/Proxies"])
            precondition(SCDynamicStoreCopyValue(store, links) != nil)
        }
    }

    /// The settings change while the callback runs, which invalidates the source or removes it from the run loop. A source that is removed has the
    /// change when it is on a run loop again.
    @Test func noCallFollowsTheEndOfASource() async {
        await #expect(processExitsWith: .success) {
            for isRemoved in [true, false] {
                unsetenv("http_proxy")
                var calls = 0
                var source: CFRunLoopSource?
                var content: StoreContent?
                func change(_ proxy: String) {
                    setenv("http_proxy", proxy, 1)
                    content?.compare()
                }
                let store = SCDynamicStoreCreate(
                    nil, "tests" as CFString,
                    { _, _, _ in
                        calls += 1
                        guard calls == 1 else { return }
                        if isRemoved {
                            CFRunLoopRemoveSource(CFRunLoopGetCurrent(), source, kCFRunLoopDefaultMode)
                        } else {
                            CFRunLoopSourceInvalidate(source)
                        }
                        change("http://two.example:2")
                    }, nil)
                content = CFNetworkEngine.content(of: store, StoreContent.typeID)
                let keys = [SCDynamicStoreKeyCreateProxies(nil)] as CFArray
                precondition(content != nil && SCDynamicStoreSetNotificationKeys(store, keys, nil))
                source = SCDynamicStoreCreateRunLoopSource(nil, store, 0)
                CFRunLoopAddSource(CFRunLoopGetCurrent(), source, kCFRunLoopDefaultMode)
                change("http://one.example:1")
                for _ in 0..<2 { CFRunLoopRunInMode(kCFRunLoopDefaultMode, 0, true) }
                precondition(calls == 1)
                CFRunLoopAddSource(CFRunLoopGetCurrent(), source, kCFRunLoopDefaultMode)
                CFRunLoopRunInMode(kCFRunLoopDefaultMode, 0, true)
                precondition(calls == (isRemoved ? 2 : 1))
            }
        }
    }

    /// A failure that may be temporary is followed by another lookup; so is a lookup from before a change, which says nothing about the network
    /// after it.
    @Test(arguments: [true, false]) func aNameIsLookedUpAgain(afterAChange: Bool) async throws {
        let resolver = HeldResolver()
        var lookups = resolver.lookups.makeAsyncIterator()
        let object = ReachabilityContent.makeTarget(
            nil, .name("host.example"), resolver: resolver, lookups: LookupSchedule(firstPause: .zero))
        let target = try #require(object).takeRetainedValue()
        let content: ReachabilityContent = try content(target, ReachabilityContent.typeID)
        let (stream, reports) = AsyncStream<SCNetworkReachabilityFlags>.makeStream()
        var flags = stream.makeAsyncIterator()
        SCNetworkReachabilitySetCallback(target, { _, flags, _ in reports.yield(flags) }, nil)
        SCNetworkReachabilitySetDispatchQueue(target, DispatchQueue(label: "tests"))
        let first = try #require(await lookups.next())
        if afterAChange { content.systemChanged() }
        #expect(resolver.count == 1)
        first(.finished(ResolverError(afterAChange ? .hostNotFound : .temporaryFailure)))
        let second = try #require(await lookups.next())
        second(.batch(AddressBatch([IPAddress("127.0.0.1")!], families: .all)))
        second(.finished(nil))
        #expect(await flags.next() == [.reachable, .isLocalAddress, .isDirect])
        SCNetworkReachabilitySetDispatchQueue(target, nil)
    }

    @Test func scheduleOfLookups() {
        var schedule = LookupSchedule()
        func ends(_ outcome: LookupSchedule.Outcome, counts: Bool, _ action: LookupSchedule.Action) -> Bool {
            let ending = schedule.ended(outcome)
            return ending.counts == counts && ending.action == action
        }
        #expect(schedule.changed() == .lookUp && schedule.changed() == .nothing)
        // It began before the change: its addresses count until there are others, and its other answers do not.
        #expect(ends(.found, counts: true, .lookUp) && ends(.found, counts: true, .nothing))
        for outcome in [LookupSchedule.Outcome.gone, .failed] {
            #expect(schedule.changed() == .lookUp && schedule.changed() == .nothing)
            #expect(ends(outcome, counts: false, .lookUp) && ends(.gone, counts: true, .nothing))
        }
        // The pauses double until something changes.
        #expect(schedule.changed() == .lookUp)
        for seconds in [1, 2, 4, 8, 16, 32, 60, 60] {
            #expect(ends(.failed, counts: false, .wait(.seconds(seconds))) && schedule.pauseEnded() == .lookUp)
        }
        // A change during a lookup, and one during a pause.
        #expect(schedule.changed() == .nothing && ends(.failed, counts: false, .lookUp))
        #expect(ends(.failed, counts: false, .wait(.seconds(1))) && schedule.changed() == .lookUp)
        #expect(ends(.failed, counts: false, .wait(.seconds(1))))
    }
}

/// A resolver whose lookups the test ends.
private final class HeldResolver: Resolver, ReverseResolver {
    typealias Handler = @Sendable (AddressEvent) -> Void

    private struct State {
        var count = 0
    }
    private let state = Locked(State())
    let (lookups, started) = AsyncStream<Handler>.makeStream()

    /// The number of lookups so far.
    var count: Int { state.withLock { $0.count } }

    func start(_ request: AddressRequest, _ handler: @escaping Handler) -> LookupToken {
        state.withLock { $0.count += 1 }
        started.yield(handler)
        return LookupToken { false }
    }

    func startNames(
        of subject: NameQuery, until deadline: ContinuousClock.Instant?,
        _ handler: @escaping @Sendable (Result<[String], ResolverError>) -> Void
    ) -> LookupToken { LookupToken { false } }
}

/// A target of which the test makes the turns, on threads of its choice.
private final class ManualTarget: DeliveryTarget {
    private struct State {
        var perform: (@Sendable () -> Void)?
    }
    private let state = Locked(State())
    let signalled = DispatchSemaphore(value: 0)

    func makeSignal(_ perform: @escaping @Sendable () -> Void) -> any DeliverySignal {
        state.withLock { $0.perform = perform }
        return Signal(self)
    }

    func isSame(as other: any DeliveryTarget) -> Bool { other as? ManualTarget === self }

    func run() { state.withLock { $0.perform }?() }

    private final class Signal: DeliverySignal {
        private let target: ManualTarget
        init(_ target: ManualTarget) { self.target = target }
        func signal() { target.signalled.signal() }
        func cancel() {}
    }
}

/// Calls of a callback, of which the first one waits.
private final class OverlappingCalls: Sendable {
    private struct State {
        var (count, atOnce, mostAtOnce) = (0, 0, 0)
    }
    private let state = Locked(State())
    let begun = DispatchSemaphore(value: 0)
    let mayEnd = DispatchSemaphore(value: 0)

    var mostAtOnce: Int { state.withLock { $0.mostAtOnce } }

    func call() {
        let isFirst = state.withLock { state in
            state.count += 1
            state.atOnce += 1
            state.mostAtOnce = max(state.mostAtOnce, state.atOnce)
            return state.count == 1
        }
        begun.signal()
        if isFirst { mayEnd.wait() }
        state.withLock { $0.atOnce -= 1 }
    }
}
