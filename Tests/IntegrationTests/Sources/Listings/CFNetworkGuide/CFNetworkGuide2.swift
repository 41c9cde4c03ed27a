public import Foundation
public import NetKit
internal import RunLoopDelivery

/// The listings of the CFNetwork Programming Guide, each written with NetKit under its number: 2-10 is
/// `CFNetworkGuide.Chapter2.listing10`.
///
/// They do what the guide's text describes. Where a listing of the guide does something else (an endless loop, a short write
/// treated as an error, lost bytes), the comment says so, and the code here is correct. `ListingTests` runs each listing against
/// a real peer.
public enum CFNetworkGuide {}

extension CFNetworkGuide {
    /// Streams: opening, reading, writing, events, polling.
    public enum Chapter2 {
        /// 2-1: makes a read stream for a file.
        public static func listing1(_ file: URL) -> ReadStream? {
            ReadStream(url: file)
        }

        /// 2-2: opens a stream. Returns nil, or the error as text, depending on its domain.
        ///
        /// The guide's text names a status that its header does not have; the status of a stream that failed is `.error`.
        public static func listing2(_ stream: ReadStream) -> String? {
            do throws(StreamError) {
                try stream.open()
                return nil
            } catch {
                return switch error.domain {
                case .posix: String(cString: strerror(Int32(error.code)))
                case .macOSStatus: "status \(error.code)"
                default: error.description  // a message, whatever the domain
                }
            }
        }

        /// 2-3: reads to the end, blocking the thread.
        public static func listing3(_ stream: ReadStream, handleBytes: (ArraySlice<UInt8>) -> Void) throws(StreamError)
        {
            var buffer = [UInt8](repeating: 0, count: 4096)
            while case let count = try stream.read(into: &buffer), count > 0 {
                handleBytes(buffer[..<count])
            }
        }

        /// 2-4: closes a stream. Releasing the last reference does so, too.
        public static func listing4(_ stream: inout ReadStream?) {
            stream?.close()
            stream = nil
        }

        /// 2-5: makes a write stream for a file, opens it, writes to it and closes it.
        ///
        /// The guide's loop treats a short write as an error and never ends after a complete one. `writeAll` is this loop.
        public static func listing5(_ file: URL, _ text: String) throws(StreamError) {
            guard let stream = WriteStream(url: file) else { return }
            try stream.open()
            var rest = Array(text.utf8)[...]
            while !rest.isEmpty {
                let count = try stream.write(Array(rest))
                rest = rest.dropFirst(count)
            }
            try stream.finish()
        }

        /// 2-6: sets the client of three events, and schedules the stream on this thread's run loop.
        public static func listing6(
            _ stream: ReadStream, _ callBack: @escaping @Sendable (ReadStream, StreamEvent) -> Void
        ) {
            stream.setClient([.hasBytesAvailable, .errorOccurred, .endEncountered], callBack)
            stream.schedule(on: .currentRunLoop)
        }

        /// 2-7: opens a scheduled stream, and runs the run loop until it is empty.
        ///
        /// The guide runs the loop only if opening failed.
        public static func listing7(_ stream: ReadStream) throws(StreamError) {
            try stream.open()
            while RunLoop.current.run(mode: .default, before: .distantFuture) {}
        }

        /// 2-8: the callback.
        public static func listing8(
            _ stream: ReadStream, _ event: StreamEvent, handleBytes: ([UInt8]) -> Void,
            report: (StreamError?) -> Void
        ) {
            switch event {
            case .hasBytesAvailable:
                // One read does not wait. Its error is also reported as an event.
                if let bytes = try? stream.read(upTo: 4096), !bytes.isEmpty { handleBytes(bytes) }
            case .errorOccurred:
                report(stream.error)
                stream.close()  // and is no longer scheduled
            case .endEncountered:
                report(nil)
                stream.close()
            case .openCompleted, .canAcceptBytes:
                break  // not requested
            }
        }

        /// 2-9: polls a read stream.
        ///
        /// The guide's loop never ends after an error; this one throws it.
        public static func listing9(
            _ stream: ReadStream, handleBytes: (ArraySlice<UInt8>) -> Void, doSomethingElse: () -> Void
        ) throws(StreamError) {
            var buffer = [UInt8](repeating: 0, count: 4096)
            while stream.status != .atEnd {
                if let count = try stream.tryRead(into: &buffer) {
                    handleBytes(buffer[..<count])
                } else {
                    doSomethingElse()
                }
            }
        }

        /// 2-10: polls a write stream.
        ///
        /// The guide's loop never ends after a complete write, repeats the old length after a short one, and continues after an
        /// error.
        public static func listing10(
            _ stream: WriteStream, _ text: String, doSomethingElse: () -> Void
        ) throws(StreamError) {
            var rest = Array(text.utf8)[...]
            while !rest.isEmpty {
                if let count = try stream.tryWrite(Array(rest)) {
                    rest = rest.dropFirst(count)
                } else {
                    doSomethingElse()
                }
            }
        }
    }
}

extension CFNetworkGuide.Chapter2 {
    /// 2-11: makes a stream use the machine's proxies.
    ///
    /// Call once: `ProxySettings.environment()`, which returns the settings.
    public static func listing11(_ stream: ReadStream, _ settings: ProxySettings) throws(StreamError) {
        try stream.set(.http(\.proxySettings), to: settings)
    }

    /// 2-12 to 2-17: settings for many streams that are kept up to date. Here they are in a file.
    public final class Listing12: Sendable {
        private let monitor: ProxySettingsMonitor
        private let settings = Locked<ProxySettings?>(nil)
        private let subscription = Locked<Subscription?>(nil)

        /// 2-12: begins a long-lived session.
        public init(_ path: String) throws(StreamError) {
            monitor = try ProxySettingsMonitor(path: path)
        }

        /// 2-13: subscribes to changes, on this thread's run loop.
        public func listing13(_ proxiesHaveChanged: @escaping @Sendable () -> Void) {
            let subscription = monitor.observe(on: .currentRunLoop) { [weak self] _ in
                self?.listing15()
                proxiesHaveChanged()
            }
            self.subscription.withLock { $0 = subscription }
        }

        /// 2-14: loads the settings for the first time.
        public func listing14() throws(StreamError) {
            let loaded = try monitor.settings()
            settings.withLock { $0 = loaded }
        }

        /// 2-15: loads them again, at each change. Invalid settings leave them unchanged.
        public func listing15() {
            try? listing14()
        }

        /// 2-16: makes a stream use them.
        public func listing16(_ stream: ReadStream) throws(StreamError) {
            try stream.set(.http(\.proxySettings), to: settings.withLock { $0 })
        }

        /// 2-17: ends the session and removes it from the run loop.
        public func listing17() {
            subscription.withLock { $0 = nil }
            monitor.stop()
        }
    }
}
