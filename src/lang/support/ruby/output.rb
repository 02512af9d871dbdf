# SPDX-License-Identifier: MIT

module LlmSandboxKernel
  # Descriptors 1 and 2 and Ruby's streams of them, which a cell may close or replace: after each
  # cell all of it is as it was.
  class Output
    def initialize
      @kept = { 1 => IO.for_fd(1, autoclose: false).dup, 2 => IO.for_fd(2, autoclose: false).dup }
      restore
    end

    def restore
      $stdout = usable(:STDOUT, 1)
      $stderr = usable(:STDERR, 2)
      $stdout.flush
    end

    private

    # The constant's stream if it writes where it should, else a new one there.
    def usable(constant, fd)
      stream = Object.const_get(constant)
      unless whole?(stream, fd)
        flush(stream)
        stream = renew(constant, fd)
      end
      stream.sync = true
      stream
    end

    def whole?(stream, fd)
      now = stream.stat
      kept = @kept[fd].stat
      stream.fileno == fd && [now.dev, now.ino] == [kept.dev, kept.ino]
    rescue SystemCallError, IOError
      false
    end

    def flush(stream)
      stream.flush
    rescue SystemCallError, IOError
      nil
    end

    def renew(constant, fd)
      place(fd)
      Object.send(:remove_const, constant)
      Object.const_set(constant, IO.for_fd(fd, "w", autoclose: false))
    end

    # A stream of this number; where it is closed, whatever is opened next may get it.
    def place(fd)
      IO.for_fd(fd, "w", autoclose: false).reopen(@kept[fd])
    rescue SystemCallError
      fillers = []
      fillers << @kept[fd].dup until fillers.last&.fileno == fd || fillers.size > fd
      fillers.last.autoclose = false
    end
  end
end
