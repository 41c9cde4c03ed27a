import CServiceDaemon
import EventLoops
import Foundation

@testable import ServiceDiscovery

/// A library of dns_sd.h controlled by the test. Its functions are C functions, so there is one per process: the tests
/// that use it are serialized.
enum ScriptedDaemon {
    /// A `DNSServiceRef`.
    struct Reference {
        var register: netkit_daemon_register_reply?
        var record: netkit_daemon_record_reply?
        var context: UInt?
        /// The host of the service.
        var host: String?
        /// The TXT records set, in order.
        var texts: [[UInt8]] = []
        var isEnded = false
    }

    struct State {
        var references: [Int: Reference] = [:]
        /// The result of `DNSServiceRefSockFD`.
        var descriptor: CInt = -1
        /// Called within `DNSServiceRegister`, on the calling thread.
        var meanwhile: (@Sendable () -> Void)?
        var updateError: Int32 = 0
        /// The result of `DNSServiceProcessResult`.
        var failsResults: Int32 = 0
        /// The names of the threads that have called the library.
        var threads: Set<String> = []
        /// The number of messages that are first read without a reply or an error.
        var quietResults = 0
        /// The calls of `DNSServiceReconfirmRecord`: the name, the type and the data.
        var reconfirmed: [String] = []
    }

    static let state = Locked(State())

    /// Resets the state; all references get this descriptor.
    static func reset(descriptor: CInt, meanwhile: (@Sendable () -> Void)? = nil) {
        state.withLock { $0 = State(descriptor: descriptor, meanwhile: meanwhile) }
    }

    static var library: DaemonLibrary {
        var functions = netkit_daemon()
        functions.begin_registration = { reference, _, _, _, _, _, host, _, length, text, reply, context in
            ScriptedDaemon.noteCall()
            ScriptedDaemon.state.withLock { $0.meanwhile }?()
            let bytes = Array(UnsafeRawBufferPointer(start: text, count: Int(length)))
            let number = ScriptedDaemon.add(
                Reference(
                    register: reply, context: UInt(bitPattern: context), host: host.map { String(cString: $0) },
                    texts: [bytes]))
            reference?.pointee = OpaquePointer(bitPattern: number)
            return 0
        }
        functions.query_record = { reference, _, _, _, _, _, reply, context in
            ScriptedDaemon.noteCall()
            let number = ScriptedDaemon.add(Reference(record: reply, context: UInt(bitPattern: context)))
            reference?.pointee = OpaquePointer(bitPattern: number)
            return 0
        }
        functions.update_record = { reference, _, _, length, text, _ in
            ScriptedDaemon.noteCall()
            let bytes = Array(UnsafeRawBufferPointer(start: text, count: Int(length)))
            return ScriptedDaemon.state.withLock { state in
                if state.updateError == 0 { state.references[Int(bitPattern: reference)]?.texts.append(bytes) }
                return state.updateError
            }
        }
        functions.process_result = { reference in
            ScriptedDaemon.noteCall()
            return ScriptedDaemon.state.withLock { state in
                guard state.quietResults == 0 else {
                    state.quietResults -= 1
                    return 0
                }
                return state.failsResults
            }
        }
        functions.descriptor = { _ in ScriptedDaemon.state.withLock { $0.descriptor } }
        functions.reconfirm = { _, interface, name, type, _, length, data in
            ScriptedDaemon.noteCall()
            let bytes = Array(UnsafeRawBufferPointer(start: data, count: Int(length)))
            let place = interface == 0 ? "" : " on \(interface)"
            let line = "\(name.map { String(cString: $0) } ?? "") \(type) \(bytes)\(place)"
            ScriptedDaemon.state.withLock { $0.reconfirmed.append(line) }
            return 0
        }
        functions.deallocate = { reference in
            ScriptedDaemon.noteCall()
            ScriptedDaemon.state.withLock { $0.references[Int(bitPattern: reference)]?.isEnded = true }
        }
        return DaemonLibrary(functions)
    }

    /// Records the calling thread, which the library may keep waiting.
    private static func noteCall() {
        let name = (try? String(contentsOfFile: "/proc/thread-self/comm", encoding: .utf8)) ?? ""
        state.withLock { _ = $0.threads.insert(name) }
    }

    private static func add(_ reference: Reference) -> Int {
        state.withLock { state in
            let number = state.references.count + 1
            state.references[number] = reference
            return number
        }
    }
}

/// Stores its events, and can be waited for.
final class RecordingSink: EventSink {
    private let events = Locked<[DiscoveryEvent]>([])
    private let notified = DispatchSemaphore(value: 0)

    func receive(_ event: DiscoveryEvent, of operation: Int) {
        events.withLock { $0.append(event) }
    }

    func notify() {
        notified.signal()
    }

    /// All events so far, after waiting for a notification for at most ten seconds.
    func next() -> [DiscoveryEvent] {
        _ = notified.wait(timeout: .now() + 10)
        return events.withLock { $0 }
    }
}
