# SPDX-License-Identifier: MIT

module LlmSandboxKernel
  # One piece of code that is run, and what became of it.
  class Cell
    # The value of a cell that ends in one of these is not worth telling.
    QUIET = %i[LASGN IASGN GASGN CVASGN CDECL DASGN DASGN_CURR MASGN OP_ASGN1 OP_ASGN2 OP_ASGN_AND
               OP_ASGN_OR OP_CDECL ATTRASGN DEFN DEFS CLASS MODULE SCLASS ALIAS UNDEF].freeze
    HERE = __dir__

    class << self
      attr_reader :binding, :pid

      def prepare
        @pid = ::Process.pid
        @constants = ::Object.constants
        @methods = ::Object.private_instance_methods(false)
        @globals = global_variables
        @binding = TOPLEVEL_BINDING.dup
        trap_interrupt
      end

      def running? = @running && ::Process.pid == @pid

      # A cell may set a trap of its own; the next has this one again.
      def trap_interrupt
        trap("INT") { Thread.main.raise(Interrupt, "") if running? }
      end

      # Run with signals and what threads raise, which must not strike before or after.
      def interruptible
        trap_interrupt
        @running = true
        Thread.handle_interrupt(::Exception => :immediate) { yield }
      ensure
        @running = false
      end

      # What came too late for its cell must not end the next one.
      def forget_interrupts
        Thread.handle_interrupt(::Exception => :immediate) { Thread.pass }
      rescue ::Exception # rubocop:disable Lint/RescueException
        retry
      end

      # Forget what the cells made: variables, constants (and so classes), methods.
      def reset
        @binding = TOPLEVEL_BINDING.dup
        (::Object.constants - @constants).each { |name| ::Object.send(:remove_const, name) }
        (::Object.private_instance_methods(false) - @methods).each do |name|
          ::Object.send(:remove_method, name)
        end
        (global_variables - @globals).each { |name| eval("#{name} = nil") }
        GC.start
        nil
      end
    end

    attr_reader :status, :exit_code, :text, :error

    def initialize(code, name)
      @code = code
      @name = name
      @status = "ok"
      @exit_code = 0
    end

    def run
      value = Cell.interruptible do
        result = Cell.binding.eval(@code, @name, 1)
        @text = result.inspect unless result.nil? || quiet?
        nil
      end
    rescue Interrupt
      end_as("interrupted", 130)
    rescue SystemExit => e
      end_as("exit", e.status)
    rescue ::Exception => e # rubocop:disable Lint/RescueException
      @error = e
      end_as("error", 1)
    ensure
      Cell.forget_interrupts
    end

    def in_kernel? = ::Process.pid == Cell.pid

    # As Ruby would end it.
    def leave_child
      warn trace if @error
      $stdout.flush
      ::Process.exit!(@status == "ok" ? true : @exit_code)
    end

    def error_name = @error.class.name || @error.class.inspect

    def error_message
      @error.message.to_s
    rescue ::Exception # rubocop:disable Lint/RescueException
      ""
    end

    # The message and the backtrace as Ruby writes them, without the lines that are ours.
    def trace
      strip(@error)
      @error.full_message(highlight: false, order: :top)
    rescue ::Exception # rubocop:disable Lint/RescueException
      "#{error_name}: #{error_message}"
    end

    private

    def end_as(status, code)
      @status = status
      @exit_code = code
      @text = nil
    end

    def strip(error)
      seen = []
      while error && !seen.include?(error)
        seen << error
        error.set_backtrace((error.backtrace || []).reject { |line| line.start_with?(HERE) })
        error = error.cause
      end
    end

    # Whether the last statement is an assignment or a definition.
    def quiet?
      node = RubyVM::AbstractSyntaxTree.parse(@code).children.last
      node = node.children.last while node.is_a?(RubyVM::AbstractSyntaxTree::Node) && node.type == :BLOCK
      node.is_a?(RubyVM::AbstractSyntaxTree::Node) && QUIET.include?(node.type)
    rescue ::StandardError, ::NotImplementedError, ::SyntaxError
      # A Ruby without this tree shows the value.
      false
    end
  end
end
