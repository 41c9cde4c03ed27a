internal import StreamKit

/// Where a session comes from, and where it goes.
extension FTPConversation {
    mutating func beginSession() throws(StreamError) {
        if settings.keepsConnection, !mustBeNew, let control = pool.take(key, dispose: { deferred.add(.end($0)) }) {
            self.control = control
            try beginJob(control)
        } else {
            var key = key
            let pair = try connect(&key)
            let control = FTPControl(pair.pair, key: self.key, machine: FTPMachine(key.login), group: pair.group)
            self.control = control
            phase = .talking(control.machine.begin())
        }
        startClock()
    }

    func connect(_ key: inout FTPSessionKey) throws(StreamError) -> (pair: StreamPair, group: String) {
        var properties = settings.properties
        // A control connection rests during transfers, and who is on the way may forget it.
        if properties.value(named: StreamProperty<Bool>.keepsAlive.name) == nil { properties[.keepsAlive] = true }
        properties[.tls] = nil
        let group = FTPControl.group(key)
        if key.login.control == .implicit {
            var configuration = key.configuration
            configuration.sessionGroup = group
            configuration.returnsToPlain = key.login.clearsControl
            properties[.tls] = configuration
        }
        let pair = StreamPair(
            host: key.proxy?.host ?? key.host, port: key.proxy?.port ?? key.port, properties: properties, loop: loop)
        try pair.open()
        return (pair, group)
    }

    mutating func beginJob(_ control: FTPControl) throws(StreamError) {
        hasBegunJob = true
        phase = .talking(
            try Self.converting { () throws(FTPError) in try control.machine.begin(job, isIPv6: control.isIPv6) })
    }

    /// A session that was kept may be dead, which only its use tells: once more on a new one, in silence.
    mutating func startAgain(after error: StreamError) throws(StreamError) -> Bool {
        // A wrong command is POSIX's EINVAL, and no better on another session.
        let isLost =
            (error.underlying as? FTPError).map { $0.code == .connectionLost }
            ?? (error.domain == .posix && error.code != 110)
        if let control, control.isReused, control.machine.lastReply == nil, isLost, !mustBeNew {
            deferred.add(.end(control))
            closeData()
            self.control = nil
            mustBeNew = true
            hasBegunJob = false
            phase = .idle
            return true
        }
        // A refusal leaves the session in order.
        release()
        return false
    }

    /// Gives the session back, or ends it.
    mutating func release() {
        stopClock()
        stopSigns()
        closeData()
        phase = .done
        detachWaiters()
        guard let control = control.take() else { return }
        if settings.keepsConnection, control.isIdle {
            deferred.add(.keep(control, pool))
        } else if settings.keepsConnection, control.machine.isUsable, control.machine.unansweredSigns > 0 {
            deferred.add(.recover(control, isAborting: false, pool, loop))
        } else {
            deferred.add(.end(control))
        }
    }

    /// Moves all waiters of this conversation to a point of its own: they are signalled, look again, and wait there.
    ///
    /// Invariant: when the control connection goes to the pool or to ``FTPRecovery``, nothing of this conversation is parked at its
    /// wait point. There is room for one watcher: one that stayed would keep the next job's from being parked.
    mutating func detachWaiters() {
        let (old, control) = (place, control)
        place = WaitPoint(loop: loop)
        let points = [old, control?.pair.input.waitPoint, control?.pair.output.waitPoint, place]
        deferred.add(.signal(points.compactMap(\.self)))
    }

    mutating func noteFacts() {
        guard let control else { return }
        lastReply = control.machine.lastReply ?? lastReply
        resourceSize = control.machine.resourceSize ?? resourceSize
        tlsInformation = control.pair[.tlsInformation] ?? control.clearedTLS ?? tlsInformation
        report = control.pair.report.steps.isEmpty ? (control.plain?.report ?? report) : control.pair.report
    }
}
