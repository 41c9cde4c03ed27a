import EventLoops
import HostResolver
import HostResolverTesting
import Testing

@testable import StreamKit

/// The scripts that run at once.
@Suite(.timeLimit(.minutes(5))) struct ProxyScriptTurnsTests {
    private static func subject(_ script: String, _ host: String) -> ProxyScriptSubject {
        ProxyScriptSubject(script: script, host: host)
    }

    @Test func oneHostTakesThreeTurnsAndOneScriptSix() {
        var queue = ProxyScriptTurnQueue<String>(limits: ProxyScriptTurnLimits())
        let (slow, other) = (Self.subject("a", "slow"), Self.subject("a", "other"))
        for _ in 0..<3 { #expect(queue.enter(slow, "slow") == nil) }
        #expect(queue.enter(slow, "slow 4") != nil)
        for _ in 0..<3 { #expect(queue.enter(other, "other") == nil) }
        #expect(queue.enter(Self.subject("a", "third"), "third") != nil)
        for host in ["slow", "other"] { #expect(queue.enter(Self.subject("b", host), host) == nil) }
        // All eight are taken.
        #expect(queue.enter(Self.subject("b", "third"), "b") != nil)
        #expect(queue.waiterCount == 3)
        // The script with the fewest turns is the next one, then the host with the fewest.
        #expect(queue.end(other) == "b")
        #expect(queue.end(other) == "third")
        #expect(queue.end(slow) == "slow 4")
        #expect(queue.end(slow) == nil && queue.waiterCount == 0)
    }

    @Test func waitersOfOneHostAreInOrder() {
        var queue = ProxyScriptTurnQueue<Int>(limits: ProxyScriptTurnLimits(all: 1))
        let subject = Self.subject("a", "host")
        #expect(queue.enter(subject, 0) == nil)
        let tickets = (1...3).map { queue.enter(subject, $0) }
        #expect(tickets.allSatisfy { $0 != nil })
        #expect(queue.end(subject) == 1)
        // The first one gives up when it has its turn, the second one before.
        if let ticket = tickets[1] { #expect(queue.withdraw(ticket, subject) == nil) }
        if let ticket = tickets[0] { #expect(queue.withdraw(ticket, subject) == 3) }
        #expect(queue.end(subject) == nil)
        #expect(queue.enter(subject, 4) == nil)
    }

    /// Eight loads from a host whose name servers are silent would otherwise stop the loads from all others.
    @Test func aHostThatIsNotLookedUpLeavesTurnsToOthers() async throws {
        let text = "function FindProxyForURL(url, host) { return 'PROXY ' + dnsResolve(host) + ':1'; }"
        var script = try ProxyScript(text)
        script.timeout = .seconds(300)
        let resolver = ScriptedResolver()
        resolver.script("silent.example", [])
        resolver.script("other.example", addresses: ["192.0.2.1"])
        let turns = ProxyScriptTurns()
        let silent = ProxyScriptQuestion(url: "http://silent.example/", host: "silent.example")
        let other = ProxyScriptQuestion(url: "http://other.example/", host: "other.example")
        try await withThrowingTaskGroup(of: Void.self) { [script] group in
            for _ in 0..<ProxyScript.maximumProcesses {
                group.addTask { _ = try await script.choices(about: silent, resolver: resolver, turns: turns) }
            }
            let waiting = ProxyScript.maximumProcesses - ProxyScript.maximumProcessesOfHost
            while turns.waiterCount < waiting, !Task.isCancelled { await Task.yield() }
            let choices = try await script.choices(about: other, resolver: resolver, turns: turns)
            #expect(choices.map(\.description) == ["http://192.0.2.1:1"])
            group.cancelAll()
            while let result = await group.nextResult() {
                #expect(throws: StreamError.cancelled) { try result.get() }
            }
        }
        #expect(turns.waiterCount == 0)
    }
}
